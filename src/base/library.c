/* library.c: see library.h. */
#include "base/library.h"

#include <dlfcn.h>

static int missing(const mcp__library *library, mcp_error *error)
{
    return mcp__fail(error, MCP_EUNSUPPORTED, 0, "%s: %s", library->wanted, dlerror());
}

int mcp__library_load(const mcp__library *library, void *functions, mcp_error *error)
{
    void *handle = NULL;

    for (size_t i = 0; i < MCP__COUNT(library->files) && library->files[i] && !handle; i++)
        handle = dlopen(library->files[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return missing(library, error);
    for (size_t i = 0; i < library->n_names; i++) {
        void *found = dlsym(handle, library->names[i]);
        if (!found)
            return missing(library, error);
        memcpy((char *)functions + i * sizeof(found), &found, sizeof(found));
    }
    return MCP_OK;
}
