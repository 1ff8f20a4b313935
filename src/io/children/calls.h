/* calls.h: the table of the system calls that a process in the sandbox may make. */
#ifndef MCP_SRC_IO_CALLS_H
#define MCP_SRC_IO_CALLS_H

#include "base/base.h"

/* Who may make a call. A process has one of the first two kinds, perhaps with the kind below it. */
enum {
    MCP__FOR_SOURCES = 1 << 0,  /* processes that read untrusted data with code of this project */
    MCP__FOR_PROGRAMS = 1 << 1, /* programs of others, and all processes that they start */
    MCP__FOR_WRITERS = 1 << 2,  /* sources that may write files */
    MCP__FOR_NETWORK = 1 << 3,  /* programs that may use the network */
};

/* What happens to a call. Every call that the table lacks, or whose arguments are others, fails with
 * ENOSYS, as on a kernel that does not have it: libraries then try another way. */
typedef enum mcp__call_action {
    MCP__CALL_ALLOWED,
    /* The broker makes it (broker.c). It fails with EPERM where there is none, because the program
     * may write no files. */
    MCP__CALL_CARRIED_OUT,
    MCP__CALL_UNSUPPORTED, /* it fails with EOPNOTSUPP */
} mcp__call_action;

enum { MCP__CALL_TESTS = 2 };

typedef struct mcp__call_test {
    unsigned arg;
    uint64_t mask; /* the bits that are compared; 0 if there is no test */
    uint64_t value;
} mcp__call_test;

typedef struct mcp__call_rule {
    const char *names; /* separated by blanks */
    unsigned who;      /* MCP__FOR_* */
    mcp__call_action action;
    const char *why;
    const char *when; /* the tests, for people; NULL if there are none */
    /* The arguments have to pass both tests. With `values`, one of them replaces the value of the
     * first test. */
    mcp__call_test tests[MCP__CALL_TESTS];
    const uint32_t *values;
    size_t n_values;
    bool own_process; /* the value of the first test is the number of the process */
} mcp__call_rule;

extern const mcp__call_rule mcp__call_rules[];
extern const size_t mcp__n_call_rules;

#endif
