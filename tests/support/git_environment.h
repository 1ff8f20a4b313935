/* git_environment.h: an environment in which git makes the same repositories everywhere. */
#ifndef MCP_TESTS_GIT_ENVIRONMENT_H
#define MCP_TESTS_GIT_ENVIRONMENT_H

#include <stdlib.h>

/* git uses no configuration files, and its dates are fixed. */
static inline void use_git_environment(void)
{
    static const char *const environment[][2] = {
        {"GIT_CONFIG_NOSYSTEM", "1"},
        {"GIT_CONFIG_GLOBAL", "/dev/null"},
        {"GIT_AUTHOR_NAME", "Ada"},
        {"GIT_AUTHOR_EMAIL", "ada@example.org"},
        {"GIT_COMMITTER_NAME", "Bob"},
        {"GIT_COMMITTER_EMAIL", "bob@example.org"},
        {"GIT_AUTHOR_DATE", "1700000000 +0100"},
        {"GIT_COMMITTER_DATE", "1700000000 +0000"},
        {"ASAN_OPTIONS", ""},
    };
    for (size_t i = 0; i < sizeof(environment) / sizeof(*environment); i++)
        setenv(environment[i][0], environment[i][1], 1);
}

#endif
