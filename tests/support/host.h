/* host.h: numbers of variables and parameters, copied to the host, wherever they are.
 *
 * The copies are contiguous and stay until 64 more were requested.
 */
#ifndef TEST_SUPPORT_HOST_H
#define TEST_SUPPORT_HOST_H

#include <attn/tape.h>

const float *host_data(const attn_variable *variable);
const float *host_gradient(const attn_variable *variable); /* 0 where nothing came */
const float *host_value(const attn_parameter *parameter);
const float *host_parameter_gradient(attn_parameter *parameter); /* NULL: it is frozen */
void host_set_value(attn_parameter *parameter, const float *numbers);

#endif
