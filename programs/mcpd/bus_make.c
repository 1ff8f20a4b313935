/* bus_make.c: loads the module of a bus, as modules.c does for sources. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus.h"
#include "modules.h"
#include "seal_key.h"

#ifdef MCPD_STATIC_BUS
extern const mcp_bus_module mcp_bus_module_v1;
static const mcp_bus_module *const linked = &mcp_bus_module_v1;
#else
static const mcp_bus_module *const linked = NULL;
#endif

/* Finds bus-NAME.so in the folders of modules. */
static bool path_of(const char *address, size_t len, char to[PATH_MAX])
{
    char folder[PATH_MAX];
    for (int installed = 0; installed < 2; installed++) {
        if (!modules_folder(installed, folder, sizeof(folder)))
            continue;
        int n = snprintf(to, PATH_MAX, "%s/bus-%.*s.so", folder, (int)len, address);
        if (n > 0 && n < PATH_MAX && access(to, F_OK) == 0)
            return true;
    }
    return false;
}

static int check(const mcp_bus_module *module, const char *path, mcp_error *error)
{
    if (!module)
        return MODULES_FAIL(error, MCP_EINVAL, "%.150s has no symbol " MCP_BUS_SYMBOL, path);
    if (module->size < sizeof(*module) || module->abi != MCP_BUS_ABI)
        return MODULES_FAIL(error, MCP_EINVAL,
                            "the bus %.150s was built for another version of the interface (this "
                            "program has %d): build it again",
                            path, MCP_BUS_ABI);
    return MCP_OK;
}

/* A bus is never unloaded: one of its threads may outlive the server. */
static int load(const char *address, size_t len, const mcp_bus_module **ret, mcp_error *error)
{
    char path[PATH_MAX];
    if (linked && strlen(linked->name) == len && memcmp(linked->name, address, len) == 0) {
        *ret = linked;
        return MCP_OK;
    }
    if (!path_of(address, len, path))
        return MODULES_FAIL(error, MCP_ENOTFOUND,
                            "there is no bus %.*s: known is redis:HOST:PORT, of the module "
                            "bus-redis (build libmcp with MCP_BUS_REDIS=ON where libhiredis is; "
                            "Debian, Ubuntu: libhiredis-dev)",
                            (int)len, address);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return MODULES_FAIL(error, MCP_EINVAL, "a bus cannot be loaded: %.200s", dlerror());
    const mcp_bus_module *module = dlsym(library, MCP_BUS_SYMBOL);
    int rc = check(module, path, error);
    if (rc == MCP_OK)
        *ret = module;
    return rc;
}

/* The file has "USER:PASSWORD" or "PASSWORD"; ":PASSWORD" if a password alone has a colon. */
static int read_password(const char *path, char **user, char **password, mcp_error *error)
{
    int rc = path ? seal_key_read_secret(path, password, error) : MCP_OK;
    char *colon = *password ? strchr(*password, ':') : NULL;
    if (rc != MCP_OK || !colon)
        return rc;
    *colon = 0;
    *user = **password ? strdup(*password) : NULL;
    if (**password && !*user)
        return MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    memmove(*password, colon + 1, strlen(colon + 1) + 1);
    return MCP_OK;
}

int bus_make(const settings *s, const mcp_host *host, mcp_bus *ret, const char **which,
             mcp_error *error)
{
    const mcp_bus_module *module = NULL;
    char *user = NULL, *password = NULL;
    size_t len = modules_name_length(s->bus);
    *which = "bus";
    int rc = len ? load(s->bus, len, &module, error)
                 : MODULES_FAIL(error, MCP_EINVAL, "%.100s is not NAME:ADDRESS", s->bus);
    if (rc == MCP_OK && (rc = read_password(s->bus_password_file, &user, &password, error)) < 0)
        *which = "bus-password-file";
    if (rc == MCP_OK)
        rc = module->make(s->bus + len + 1, bus_name(s), user, password, host, ret, error);
    if (password)
        explicit_bzero(password, strlen(password));
    free(password);
    free(user);
    return rc;
}
