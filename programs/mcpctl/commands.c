/* commands.c: the table of commands. */
#include <string.h>

#include "mcpctl.h"

const command commands[] = {
    {
        .name = "info",
        .args = "",
        .run = run_info,
        .summary = "Show who the server is, what it speaks and what it offers.",
        .details =
            "Name, title and version as the server gives them, the protocol revision that was "
            "found out, the capabilities, how long it took from starting the server to its "
            "first answer, and its instructions.",
    },
    {
        .name = "ls",
        .args = "",
        .run = run_ls,
        .summary = "List the resources.",
        .details =
            "All pages. On a terminal a table; otherwise one URI per line. With --long the "
            "fields URI, size, MIME type and name, separated by tabs.\nA control character in "
            "a field is written as \\x09, so that a line is always one resource.",
    },
    {
        .name = "read",
        .args = "URI...",
        .min_args = 1,
        .max_args = SIZE_MAX,
        .run = run_read,
        .summary = "Write the contents of resources to stdout.",
        .details =
            "Text as it is, binary contents decoded, in the order of the URIs. On a terminal "
            "control characters of text are shown instead of written, and binary contents are "
            "refused unless --force is given.\nA URI that cannot be read does not stop the "
            "others; the first failure decides the exit status.",
    },
};

const size_t n_commands = sizeof(commands) / sizeof(commands[0]);

const command *command_find(const char *name)
{
    for (size_t i = 0; i < n_commands; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}
