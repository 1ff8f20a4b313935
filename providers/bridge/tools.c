/* tools.c: the declarations of the four tools.
 *
 * Their schemas use only what every model API accepts: one type for each value, "items" for each
 * array, a type for each enum, no anyOf or oneOf, and additionalProperties set to false.
 */
#include "tools.h"

#include "file_parts.h"

/* ---- schemas --------------------------------------------------------------------------------- */

#define TEXT(name, about)   "\"" name "\":{\"type\":\"string\",\"description\":\"" about "\"}"
#define NUMBER(name, about) "\"" name "\":{\"type\":\"integer\",\"description\":\"" about "\"}"
#define BOUNDED(name, min, max, about)                                        \
    "\"" name "\":{\"type\":\"integer\",\"minimum\":" min ",\"maximum\":" max \
    ",\"description\":\"" about "\"}"
#define FLAG(name, about) "\"" name "\":{\"type\":\"boolean\",\"description\":\"" about "\"}"
#define OBJECT(required, members)                                                    \
    "{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "]," \
    "\"additionalProperties\":false}"
#define ARRAY(name, items) "\"" name "\":{\"type\":\"array\",\"items\":" items "}"

#define MAX_TOKENS \
    BOUNDED("max_tokens", "100", "100000", "Size of the answer, if not the usual one")
#define CURSOR TEXT("cursor", "Where to continue, from the end of the previous answer")
#define UNDER                                                                                   \
    "\"under\":{\"type\":\"string\",\"maxLength\":4096,\"description\":\"Only URIs that begin " \
    "with this: file:///home/ann/src/, git://app/\"}"
#define PATTERN(what)                                                                 \
    "\"pattern\":{\"type\":\"string\",\"maxLength\":256,\"description\":\"Only " what \
    " whose path, relative to the source, matches this glob: *.md (any folder), src/**/*.c\"}"

/* one member per line, which clang-format cannot do */
/* clang-format off */
static const char list_input[] = OBJECT("",
    UNDER ","
    PATTERN("those") ","
    FLAG("templates", "Only the templates: URIs with placeholders") ","
    BOUNDED("limit", "1", "1000", "Maximum entries; default 200") ","
    MAX_TOKENS ","
    CURSOR);

static const char find_input[] = OBJECT("\"name\"",
    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":256,\"description\":\"Part of the "
    "name, ignoring case: readme; with a slash, part of the path: src/main; with * ? or [ a "
    "glob for all of it: *.md, src/**/*.c\"},"
    "\"kind\":{\"type\":\"string\",\"enum\":[\"file\",\"folder\",\"resource\"],\"description\":"
    "\"Only this kind; a resource is neither a file nor a folder\"},"
    UNDER ","
    BOUNDED("limit", "1", "1000", "Maximum entries; default 200") ","
    MAX_TOKENS ","
    CURSOR);

#define ENTRY OBJECT("\"kind\",\"uri\"",                                          \
    "\"kind\":{\"type\":\"string\",\"enum\":[\"file\",\"folder\",\"resource\"]}," \
    TEXT("uri", "Read it with read_resource") ","                                 \
    NUMBER("size", "Bytes") ","                                                   \
    TEXT("name", "Its name") ","                                                  \
    TEXT("title", "Its display name") ","                                         \
    TEXT("description", "What it is") ","                                         \
    TEXT("mimeType", "Its MIME type"))

#define NOTE TEXT("note", "What was left out, and how to go on")

#define TEMPLATE OBJECT("\"uriTemplate\",\"name\"",                    \
    TEXT("uriTemplate", "A URI template (RFC 6570)") ","               \
    TEXT("name", "Its name") ","                                       \
    TEXT("title", "Its display name") ","                              \
    TEXT("description", "What it is, and what to fill in") ","         \
    TEXT("mimeType", "Its MIME type"))

static const char list_output[] = OBJECT("\"entries\"",
    ARRAY("entries", ENTRY) ","
    ARRAY("templates", TEMPLATE) ","
    TEXT("cursor", "More results: call again with it") ","
    NOTE);

static const char search_input[] = OBJECT("\"query\"",
    "\"query\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1000,\"description\":\"What to "
    "look for on each line: this text, or with regex a regular expression (PCRE2)\"},"
    FLAG("regex", "query is a regular expression; default false") ","
    FLAG("ignore_case", "Default false") ","
    UNDER ","
    PATTERN("files") ","
    BOUNDED("limit", "1", "1000", "Maximum lines; default 100") ","
    BOUNDED("per_file", "1", "1000", "Maximum lines per file; default 20") ","
    MAX_TOKENS ","
    CURSOR);

#define MATCH OBJECT("\"line\",\"text\"",     \
    NUMBER("line", "Line number, from 1") "," \
    TEXT("text", "The line, or the text around the match"))

#define MATCHES OBJECT("\"uri\",\"matches\"",  \
    TEXT("uri", "Of the file or resource") "," \
    ARRAY("matches", MATCH) ","                \
    FLAG("more", "It has more matches"))

#define SKIPPED OBJECT("",                              \
    NUMBER("binary", "Not text") ","                    \
    NUMBER("large", "Too large") ","                    \
    NUMBER("slow", "The expression takes too long") "," \
    NUMBER("unreadable", "Cannot be read") ","          \
    NUMBER("values", "Long values of rows, which have URIs of their own"))

static const char search_output[] = OBJECT("\"files\",\"searched\",\"skipped\"",
    ARRAY("files", MATCHES) ","
    NUMBER("searched", "How many were searched") ","
    "\"skipped\":" SKIPPED ","
    "\"partial\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":"
    "\"Where the search of a resource ended: URIs of the rest\"},"
    TEXT("cursor", "More results: call again with it") ","
    NOTE);

/* The parameters in the URIs of files, as arguments. */
#define FROM(min)         "\"minimum\":" #min
#define BETWEEN(min, max) FROM(min) ",\"maximum\":" STRING(max)
#define STRING(text) #text
#define PARAMETER(kind, member, name, value, bounds, about) \
    ",\"" name "\":{\"type\":\"integer\"," bounds ",\"description\":\"" about "\"}"
#define PARAMETERS(kind, name, title, about, parameters) parameters

static const char read_input[] = OBJECT("\"uri\"",
    "\"uri\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":8192,\"description\":\"A URI from "
    "list_resources, a template with its placeholders filled in, or a path; it may have "
    "parameters\"}"
    COMMON_PARTS(PARAMETERS, PARAMETER, PARAMETER) ","
    MAX_TOKENS);
/* clang-format on */

size_t bridge_most_bytes(const bridge_tools *all, const mcp_json *arguments)
{
    enum { USUAL = 10000, LEAST = 100, MOST = 100000, BYTES = 4 /* of a token */ };
    size_t usual = all->bridge->max_tokens;
    int64_t n = mcp_json_int(mcp_json_get(arguments, "max_tokens"), 0);
    if (n >= LEAST)
        return (size_t)(n < MOST ? n : MOST) * BYTES;
    return (usual ? usual : USUAL) * BYTES;
}

/* ---- registration ---------------------------------------------------------------------------- */

static bool offered(const mcp_request *req, void *user)
{
    const mcp_bridge_options *o = &((const bridge_tools *)user)->bridge->options;
    return !o->offered || o->offered(req, o->user);
}

#define READ_ONLY                                                                      \
    .read_only = MCP_HINT_YES, .destructive = MCP_HINT_NO, .idempotent = MCP_HINT_YES, \
    .open_world = MCP_HINT_NO, .offered = offered

#define NAMES(kind, name, title, about, parameters)          " " parameters ","
#define FIRST_NAME(kind, member, name, value, bounds, about) name
#define NEXT_NAME(kind, member, name, value, bounds, about)  " and " name

#define FILE_PARAMETERS COMMON_FILE_PARTS(NAMES, FIRST_NAME, NEXT_NAME)

static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool),
     .name = "list_resources",
     .title = "List resources",
     .description = "Lists the resources of this server (files, folders, repositories, tables and "
                    "more), one line each: kind, size in bytes, URI, separated by tabs; then the "
                    "templates: URIs with placeholders. Read them with read_resource.",
     .input_schema = list_input,
     .output_schema = list_output,
     READ_ONLY,
     .call = bridge_call_list},
    {.size = sizeof(mcp_tool),
     .name = "find_resources",
     .title = "Find resources by name",
     .description = "Finds files, folders and other resources by a part of their name or path, or "
                    "by a glob. One line each, as in list_resources.",
     .input_schema = find_input,
     .output_schema = list_output,
     READ_ONLY,
     .call = bridge_call_find},
    {.size = sizeof(mcp_tool),
     .name = "search_resources",
     .title = "Search in resources",
     .description =
         "Searches the contents of text files and other listed resources, line by line, "
         "for a text or a regular expression. For each resource its URI, then its lines: number, "
         "colon, text. Read around a line with read_resource: line and lines.",
     .input_schema = search_input,
     .output_schema = search_output,
     READ_ONLY,
     .call = bridge_call_search},
    {.size = sizeof(mcp_tool),
     .name = "read_resource",
     .title = "Read a resource",
     .description =
         "Reads a resource by its URI or path: a file (src/a.c, src/a.c:12), a folder's listing, "
         "or "
         "any other resource of list_resources and its templates. A large one is given in parts; "
         "the "
         "answer says how to go on. To choose a part of a file, use one of" FILE_PARAMETERS
         " as the schema says.",
     .input_schema = read_input,
     READ_ONLY,
     .call = bridge_call_read},
};

static void release(void *user)
{
    bridge_tools *t = user;
    mcp_allocator alloc = t->alloc; /* the bridge may be freed already */
    common_release(&alloc, t);
}

int mcp_bridge_add_tools(mcp_bridge *b, const search_source *sources, size_t n, mcp_error *error)
{
    bridge_tools *t = common_alloc(&b->alloc, sizeof(*t) + n * sizeof(*sources));
    if (!t)
        return MCP_ENOMEM;
    t->bridge = b;
    t->alloc = b->alloc;
    t->n = n;
    for (size_t i = 0; i < n; i++)
        t->sources[i] = sources[i];
    int rc = mcp_server_on_release(b->server, release, t);
    if (rc != MCP_OK) {
        common_release(&b->alloc, t);
        return rc;
    }
    for (size_t i = 0; rc == MCP_OK && i < sizeof(tools) / sizeof(*tools); i++)
        rc = mcp_server_add_tool(b->server, &tools[i], t, error);
    return rc;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

int mcp_bridge_new(mcp_server *server, const mcp_bridge_options *options, mcp_bridge **ret,
                   mcp_error *error)
{
    mcp_allocator alloc = common_allocator(options->allocator);
    mcp_bridge *b = common_alloc(&alloc, sizeof(*b));
    (void)error;
    if (!b)
        return MCP_ENOMEM;
    *b = (mcp_bridge){.server = server, .alloc = alloc, .options = *options};
    int rc = common_loopback_new(server, &alloc, &b->loopback);
    if (rc == MCP_OK)
        *ret = b;
    else
        common_release(&alloc, b);
    return rc;
}

void mcp_bridge_limit(mcp_bridge *b, size_t max_tokens)
{
    b->max_tokens = max_tokens;
}

void mcp_bridge_free(mcp_bridge *b)
{
    if (!b)
        return;
    common_loopback_free(b->loopback);
    mcp_allocator alloc = b->alloc;
    common_release(&alloc, b);
}
