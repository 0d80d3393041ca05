/* optimizers.h: the numbers of one step of an optimiser, for the kernels. */
#ifndef AT_KERNELS_OPTIMIZERS_H
#define AT_KERNELS_OPTIMIZERS_H

typedef struct at_sgd {
    float scale;    /* of the gradient: clipping, accumulation */
    float decay;    /* g += decay * p */
    float momentum; /* 0: none */
    float rate;
    int nesterov;
} at_sgd;

typedef struct at_adamw {
    float scale;                      /* of the gradient: clipping, accumulation */
    float keep;                       /* p *= keep: 1 - rate * decay */
    float beta1, rest1, beta2, rest2; /* rest = 1 - beta */
    float root;                       /* 1 / sqrt(1 - beta2^t) */
    float rate;                       /* learning rate / (1 - beta1^t) */
    float epsilon;
} at_adamw;

/* Steps of AdamW without a gradient, all at once (lazy rows). */
typedef struct at_adamw_late {
    float slide, epsilon; /* p -= slide * m / (sqrt(v) + epsilon) */
    float decay1, decay2; /* of the moments */
    float keep_average;   /* of the distance between average and p */
    float lag;            /* average += lag * m / (sqrt(v) + epsilon) */
} at_adamw_late;

#endif
