/* program_name.c: what the programs define for programs/common/text.h. */
#include "common/text.h"

const char *program_name = "test";
