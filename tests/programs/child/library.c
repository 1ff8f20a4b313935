/* library.c: a module that lets libgit2 read the packs of its source, a folder of objects. The git
 * provider never does that (providers/git/reader.h). A resource is answered after all objects were
 * read. */
#include <stdio.h>

#include <git2.h>

#include <mcp/mcp.h>
#include <mcp/module.h>

static char objects[4096];

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    enum { OBJECTS = 16 };
    git_odb *odb = NULL;
    (void)uri, (void)user;
    git_libgit2_init();
    if (git_odb_open(&odb, objects) < 0)
        return MCP_EIO;
    for (size_t i = 0; i < OBJECTS; i++) {
        const git_oid id = {{0xbb, (unsigned char)i}}; /* as in fuzz/git_seed.h */
        git_odb_object *o = NULL;
        if (git_odb_read(&o, odb, &id) == 0)
            git_odb_object_free(o);
    }
    git_odb_free(odb);
    return mcp_reply_text(req, "read");
}

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    const mcp_provider provider = {.size = sizeof(provider), .name = "library", .read = read_one};
    (void)options, (void)name;
    snprintf(objects, sizeof(objects), "%s", source);
    return mcp_server_mount(server, "library://l/", &provider, NULL, error);
}

MCP_MODULE(library, .mount = mount);
