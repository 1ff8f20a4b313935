/* members.c: maps the libraries' options to the names of mcpd's options, for error texts. */
#include <string.h>

#include "options.h"

const char *options_of_member(const char *member, void *user)
{
    static const char *const names[][2] = {
        {"allow_hosts", "--allow-host"},
        {"allow_origins", "--allow-origin"},
        {"trusted_proxies", "--trusted-proxy"},
        {"max_connections", "--max-connections"},
        {"max_per_address", "--max-per-address"},
        {"max_per_principal", "--max-per-principal"},
        {"max_sessions", "--max-sessions"},
        {"max_sessions_each", "--max-sessions-each"},
        {"max_memory", "--max-memory"},
        {"max_share", "--max-share"},
        {"keep_files", "--keep-files"},
        {"max_body", "--max-body"},
        {"max_work_memory", "--max-work-memory"},
        {"calls_per_second", "--calls-per-second"},
        {"completions_per_second", "--completions-per-second"},
        {"polls_per_second", "--polls-per-second"},
    };
    (void)user;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(member, names[i][0]) == 0)
            return names[i][1];
    }
    return NULL;
}
