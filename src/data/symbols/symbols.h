/* symbols.h: from text to units and back: tokenisers, their vocabulary and subword model.
 *
 * A unit is the text of one row of a network, or of one step of its output: a word, a character, a byte, a
 * subword, or the text between two spaces. Inputs split text into units; heads that produce text join them
 * again. The kinds of units are one table (units.c): how a token and a raw text are split, and how units are
 * joined.
 */
#ifndef AT_DATA_SYMBOLS_SYMBOLS_H
#define AT_DATA_SYMBOLS_SYMBOLS_H

#include "data/strings.h"
#include "data/symbols/subwords.h"
#include "data/symbols/vocabulary.h"

typedef enum at_unit {
    AT_UNIT_WORDS,
    AT_UNIT_CHARS,
    AT_UNIT_BYTES,
    AT_UNIT_SUBWORDS,
    AT_UNIT_SYMBOLS, /* what stands between spaces */
    AT_UNIT_AUTO     /* what the data looks like: at_symbols_guess */
} at_unit;
extern const char *const at_unit_names[]; /* by at_unit; ends with NULL */

typedef struct at_symbol_options {
    at_unit unit;
    int pretokenized;   /* words: split raw text at spaces only */
    int lowercase;      /* units are looked up in lower case */
    int exact;          /* the text can be written again from its units: spaces are kept */
    int running;        /* a unit "\n" ends every line */
    int decompose;      /* chars: of a raw text, each in its canonical parts (NFD): letters and marks, jamo */
    int64_t vocabulary; /* at most so many units; 0: no limit */
    int64_t min_count;  /* units that are rarer in training are unknown */
    int64_t subwords;   /* how many symbols byte-pair encoding may have */
} at_symbol_options;

typedef struct at_symbols {
    attn_context *context;
    at_symbol_options options;
    at_vocabulary vocabulary; /* string 0 is "" and stands for unknown units */
    at_subwords subwords;     /* unit SUBWORDS only */
    /* Answers that were among the texts learned from, as numbers of symbols, until someone takes them. */
    const at_strings *answers;
    struct at_numbered *answer_symbols;
} at_symbols;

/* ---- splitting ---- */

/* Takes the units of a text one by one; token: the number of the token that the unit is of. */
typedef attn_status (*at_unit_function)(void *user, const char *unit, size_t length, int64_t token);

typedef struct at_splitter {
    const at_symbols *symbols;
    attn_context *context; /* whose memory is used, and who gets errors: not always that of the symbols */
    at_unit_function take;
    void *user;
    int pretokenized; /* as in the options, or more */
    int open;         /* the text continues with what precedes it: no space is thought before it */
    int learning;     /* subwords are yet to be learned: units are words, each with the space before it */
    at_strings pieces;
    char *word;
    int64_t word_room;
} at_splitter;

at_splitter at_splitter_of(const at_symbols *symbols, attn_context *context, at_unit_function take,
                           void *user);
void at_splitter_free(at_splitter *splitter);
/* A token is a word as it is, or is taken apart into characters, bytes, subwords, all with its number. A raw
 * text is split into words first where the unit asks for words. */
attn_status at_split_token(at_splitter *splitter, const char *token, size_t length, int64_t number);
attn_status at_split_text(at_splitter *splitter, const char *text, size_t length);

/* ---- learning ---- */

/* Texts that are looked at one by one, by several threads at once. */
typedef struct at_text_list {
    const void *user;
    int64_t count;    /* how many there are */
    int64_t numbered; /* the units of so many of them, the first ones, are numbered; the others count only */
    attn_status (*split)(const void *user, at_splitter *splitter, int64_t text);
    int64_t (*place)(const void *user, int64_t text); /* the bytes of all texts before this one, about */
    const char *name; /* of the file; NULL: nobody has to be told how far this is */
} at_text_list;

struct at_numbered;
/* Learns subwords and vocabulary. symbols->context and options are set. numbered: NULL, or the units of the
 * texts, which are then at hand (data/symbols/numbering.h). */
attn_status at_symbols_learn(at_symbols *symbols, const at_text_list *texts, struct at_numbered *numbered);
void at_symbols_free(at_symbols *symbols);
/* Keeps the symbols of answers, texts `first` and up of `numbered`, which has only those before it then. */
attn_status at_symbols_keep(at_symbols *symbols, const at_strings *answers, struct at_numbered *numbered,
                            int64_t texts, int64_t first);
/* 1 if they were kept and are the caller's now. */
int at_symbols_take(const at_symbols *symbols, attn_context *context, const at_strings *answers,
                    struct at_numbered *taken);

/* The number of a unit, -1 if it is not known. buffer and room: for lower case, grown through `context`. */
attn_status at_symbols_find(const at_symbols *symbols, attn_context *context, const char *unit, size_t length,
                            char **buffer, int64_t *room, int64_t *number);

/* The unit that texts look to be made of: SYMBOLS if the pieces between their spaces are few different ones,
 * CHARS if hardly any has spaces or they are short (words, names), else SUBWORDS. */
attn_status at_symbols_guess(attn_context *context, const at_strings *texts, at_unit *unit);

/* ---- joining ---- */

/* Text that grows unit by unit; the bytes end with a 0. */
typedef struct at_joined {
    char *bytes;
    int64_t count, room;
    int started; /* something of the text, or of its line, is there */
} at_joined;
attn_status at_symbols_append(const at_symbols *symbols, attn_context *context, const char *unit,
                              size_t length, at_joined *joined);
/* From byte `from` on, where a character begins, bytes that are no UTF-8 become question marks; unless it is
 * the last time, a character that is not yet whole waits. The bytes that are ready. */
int64_t at_joined_mend(at_joined *joined, int64_t from, int last);

/* A word in lower case, in a buffer that grows. */
attn_status at_lower_case(attn_context *context, const char **word, size_t *length, char **buffer,
                          int64_t *room);

#endif
