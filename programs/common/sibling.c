/* sibling.c: finds programs that are installed together with this one. */
#define _GNU_SOURCE
#include "sibling.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

/* relative to the folder of this program */
static const char *const places[] = {"/", "/../libexec/mcp/", "/../../bin/"};

#ifdef MCP_STATIC_PROGRAMS
static bool is_inside(const char *name)
{
    return strcmp(name, "mcpctl") == 0 || strcmp(name, "mcpctl-browse") == 0 ||
           strcmp(name, "mcpctl-web") == 0;
}
#else
static bool is_inside(const char *name)
{
    (void)name;
    return false;
}
#endif

bool sibling_find(const char *name, char to[PATH_MAX])
{
    char own[PATH_MAX];
    if (is_inside(name)) {
        snprintf(to, PATH_MAX, "/proc/self/exe");
        return true;
    }
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[len > 0 ? len : 0] = 0;
    char *slash = strrchr(own, '/');
    if (!slash)
        return false;
    *slash = 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (snprintf(to, PATH_MAX, "%s%s%s", own, places[i], name) < PATH_MAX &&
            file_is_program(to))
            return true;
    return false;
}
