/* module.c: a provider module for mcpd: the parts of a text as notes:// resources.
 *
 *     cc -shared -fPIC module.c $(pkg-config --cflags mcp) -o notes.so
 *     mcpd --module ./notes.so 'notes:milk,bread,a cake?name=shopping'
 *
 * It is not linked with libmcp: it uses the libmcp of the program that loads it.
 */
#include <mcp/module.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct notes {
    char *text; /* the notes, separated by the separator */
    char separator;
    char prefix[64]; /* "notes://shopping/" */
} notes;

/* Finds a note by its number, counted from 1. Returns false if there are fewer notes. */
static bool note_at(const notes *n, size_t number, mcp_str *ret)
{
    const char *p = n->text;
    for (size_t i = 1; *p || i == 1; i++) {
        const char *end = strchr(p, n->separator);
        size_t len = end ? (size_t)(end - p) : strlen(p);
        if (i == number) {
            *ret = (mcp_str){p, len};
            return true;
        }
        p += len + (end != NULL);
    }
    return false;
}

/* The cursor is the number of the last note on the previous page. */
static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    notes *n = user;
    mcp_str note;
    size_t number = 0;
    if (cursor.len == sizeof(number))
        memcpy(&number, cursor.ptr, sizeof(number));
    else if (cursor.len)
        return MCP_EINVAL;
    while (note_at(n, number + 1, &note)) {
        char uri[96], *name = mcp_request_strdup(req, note);
        if (!max--)
            return mcp_reply_next(req, (mcp_str){(const char *)&number, sizeof(number)});
        snprintf(uri, sizeof(uri), "%s%zu", n->prefix, ++number);
        int rc = mcp_reply_resource(
            req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = name, .mime_type = "text/plain"));
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

static int read_note(mcp_request *req, mcp_str uri, void *user)
{
    notes *n = user;
    mcp_str note;
    char *end;
    const char *digits = uri.ptr + strlen(n->prefix);
    unsigned long number = *digits >= '1' && *digits <= '9' ? strtoul(digits, &end, 10) : 0;
    if (!number || *end || !note_at(n, number, &note))
        return MCP_ENOTFOUND;
    return mcp_reply_str(req, note, "text/plain");
}

static void release(void *user)
{
    notes *n = user;
    free(n->text);
    free(n);
}

static void set_prefix(char prefix[64], const char *name)
{
    snprintf(prefix, 64, "notes://%.40s/", name ? name : "all");
}

/* Describes what `mount` will offer, without mounting it. */
static int describe(const char *source, const mcp_json *options, const char *name,
                    const mcp_description *to, mcp_error *error)
{
    char prefix[64];
    (void)source, (void)options;
    set_prefix(prefix, name);
    return to->source(MCP_OPTIONS(mcp_source, .prefix = prefix, .lists = true), error, to->user);
}

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    notes *n = calloc(1, sizeof(*n));
    if (!n || !(n->text = malloc(strlen(source) + 1))) {
        free(n);
        return MCP_ENOMEM;
    }
    memcpy(n->text, source, strlen(source) + 1);
    mcp_str separator = mcp_json_string(mcp_json_get(options, "separator"));
    n->separator = separator.len ? *separator.ptr : ',';
    set_prefix(n->prefix, name);
    return mcp_server_mount(server, n->prefix,
                            MCP_OPTIONS(mcp_provider, .name = "notes", .list = list,
                                        .read = read_note, .release = release),
                            n, error); /* takes ownership of n, even on failure */
}

static const char options_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
    "\"separator\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1}}}";

MCP_MODULE(notes, .about = "The lines of a text", .options_schema = options_schema, .mount = mount,
           .describe = describe);
