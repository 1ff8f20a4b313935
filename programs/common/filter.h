/* filter.h: runs another program with an input, and gets its output. */
#ifndef PROGRAM_FILTER_H
#define PROGRAM_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <mcp/base.h>

enum { FILTER_NO_PROGRAM = 127 };

typedef struct filter_call {
    const char *const *argv; /* the program is looked up in PATH */
    mcp_str input;           /* for its stdin */
    bool partly;             /* it need not read the input */
    int ms;                  /* for all; then it is killed */
    bool errors;             /* its stderr belongs to its output */
    const atomic_bool *stop; /* if another thread sets it, the program is killed; may be NULL */
} filter_call;

/* Runs a program. *ret gets the output, less than 1 MiB, NUL-terminated, which the caller frees; NULL
 * if there is none to be had. Returns the exit status, FILTER_NO_PROGRAM if there is no such program,
 * or -1 after another failure: it took too long, did not read its whole input, or wrote too much.
 * SIGPIPE must be ignored. */
int filter_run(const filter_call *call, char **ret);

#endif
