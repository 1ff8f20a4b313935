/* common.h: what programs use of this folder: the question to a person before something is done (confirm.h). */
#ifndef COMMON_COMMON_H
#define COMMON_COMMON_H

#include "confirm.h"

#endif
