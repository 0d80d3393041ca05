/* clock.h: seconds since some moment, for measuring how long things take. */
#ifndef AT_BASE_CLOCK_H
#define AT_BASE_CLOCK_H

double at_seconds(void);

#endif
