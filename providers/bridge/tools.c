/* tools.c: the declarations of the four tools.
 *
 * Their schemas use only what every model API accepts: one type for each value, "items" for each
 * array, a type for each enum, no anyOf or oneOf, and additionalProperties set to false.
 */
#include "tools.h"

#include "file_parts.h"
#include "structured.h"

/* ---- schemas --------------------------------------------------------------------------------- */

#define TEXT(name, about)   "\"" name "\":{\"type\":\"string\",\"description\":\"" about "\"}"
#define NUMBER(name, about) "\"" name "\":{\"type\":\"integer\",\"description\":\"" about "\"}"
#define BOUNDED(name, min, max, about)                                        \
    "\"" name "\":{\"type\":\"integer\",\"minimum\":" min ",\"maximum\":" max \
    ",\"description\":\"" about "\"}"
#define WORD(name)        "\"" name "\":{\"type\":\"string\"}"
#define COUNT(name)       "\"" name "\":{\"type\":\"integer\"}"
#define FLAG(name, about) "\"" name "\":{\"type\":\"boolean\",\"description\":\"" about "\"}"
#define OBJECT(required, members)                                                    \
    "{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "]," \
    "\"additionalProperties\":false}"
#define ARRAY(name, items) "\"" name "\":{\"type\":\"array\",\"items\":" items "}"

/* Models need not know its bounds: a number beyond them is the nearest one (common_answer_bytes()). */
#define MAX_TOKENS NUMBER("max_tokens", "Size of the answer")
#define CURSOR     TEXT("cursor", "To go on: from the end of the previous answer")
#define UNDER                                                                                   \
    "\"under\":{\"type\":\"string\",\"maxLength\":4096,\"description\":\"Only URIs that begin " \
    "with this: file:///home/ann/src/, git://app/\"}"
#define PATTERN(what)                                                                 \
    "\"pattern\":{\"type\":\"string\",\"maxLength\":256,\"description\":\"Only " what \
    " whose path in its source matches: *.md (any folder), src/**/*.c\"}"

/* one member per line, which clang-format cannot do */
/* clang-format off */
static const char list_input[] = OBJECT("",
    UNDER ","
    PATTERN("those") ","
    FLAG("templates", "Only templates") ","
    BOUNDED("limit", "1", "1000", "Entries; default 200") ","
    MAX_TOKENS ","
    CURSOR);

static const char find_input[] = OBJECT("\"name\"",
    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":256,\"description\":\"Part of the "
    "name (readme), or with a slash of the path (src/main), ignoring case; or with * ? [ a glob: *.md, "
    "src/**/*.c\"},"
    "\"kind\":{\"type\":\"string\",\"enum\":[\"file\",\"folder\",\"resource\"],\"description\":"
    "\"resource: neither file nor folder\"},"
    UNDER ","
    BOUNDED("limit", "1", "1000", "Entries; default 200") ","
    MAX_TOKENS ","
    CURSOR);

/* What a member is, its name says; programs read these schemas, and each model pays for them. */
#define ENTRY OBJECT("\"kind\",\"uri\"",                                          \
    "\"kind\":{\"type\":\"string\",\"enum\":[\"file\",\"folder\",\"resource\"]}," \
    WORD("uri") "," COUNT("size") "," WORD("name") "," WORD("title") ","          \
    WORD("description") "," WORD("mimeType"))

#define NOTE TEXT("note", "What was left out, and how to go on")

#define TEMPLATE OBJECT("\"uriTemplate\",\"name\"",        \
    WORD("uriTemplate") "," WORD("name") "," WORD("title") "," \
    WORD("description") "," WORD("mimeType"))

static const char list_output[] = OBJECT("\"entries\"",
    ARRAY("entries", ENTRY) ","
    ARRAY("templates", TEMPLATE) ","
    WORD("cursor") ","
    NOTE);

static const char search_input[] = OBJECT("\"query\"",
    "\"query\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1000,\"description\":\"What to "
    "look for on each line: a text, or with regex an expression of PCRE2\"},"
    FLAG("regex", "Default false") ","
    FLAG("ignore_case", "Default false") ","
    UNDER ","
    PATTERN("files") ","
    BOUNDED("limit", "1", "1000", "Lines; default 100") ","
    BOUNDED("per_file", "1", "1000", "Of each file; default 20") ","
    MAX_TOKENS ","
    CURSOR);

#define MATCH   OBJECT("\"line\",\"text\"", COUNT("line") "," WORD("text"))
#define MATCHES OBJECT("\"uri\",\"matches\"", WORD("uri") "," ARRAY("matches", MATCH) "," FLAG("more", "It has more"))
#define SKIPPED OBJECT("", COUNT("binary") "," COUNT("large") "," COUNT("slow") "," COUNT("unreadable") "," \
    NUMBER("values", "Long values of rows, which have URIs of their own"))

static const char search_output[] = OBJECT("\"files\",\"searched\",\"skipped\"",
    ARRAY("files", MATCHES) ","
    COUNT("searched") ","
    "\"skipped\":" SKIPPED ","
    "\"partial\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":"
    "\"Where the search of a resource ended: URIs of the rest\"},"
    WORD("cursor") ","
    NOTE);

/* The parameters in the URIs of files, as arguments. */
#define FROM(min)         "\"minimum\":" #min
#define BETWEEN(min, max) FROM(min) ",\"maximum\":" STRING(max)
#define STRING(text) #text
#define PARAMETER(kind, member, name, value, bounds, about) \
    ",\"" name "\":{\"type\":\"integer\"," bounds ",\"description\":\"" about "\"}"
#define PARAMETERS(kind, name, title, about, parameters) parameters

static const char read_input[] = OBJECT("\"uri\"",
    "\"uri\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":8192,\"description\":\"A URI, "
    "a template filled in, or a path\"}"
    COMMON_PARTS(PARAMETERS, PARAMETER, PARAMETER) ","
    "\"charset\":{\"type\":\"string\",\"description\":\"If not UTF-8\"},"
    MAX_TOKENS);
/* clang-format on */

size_t bridge_most_bytes(const bridge_tools *all, const mcp_json *arguments)
{
    enum { USUAL = 10000 };
    size_t usual = all->bridge->max_tokens;
    return common_answer_bytes(arguments, usual ? usual : USUAL);
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
     .description =
         "Lists what this server has (files, folders, repositories, tables and more), one "
         "line each: kind, size in bytes, URI; then the templates: URIs with "
         "placeholders. Read them with read_resource.",
     .input_schema = list_input,
     .output_schema = list_output,
     READ_ONLY,
     .call = bridge_call_list},
    {.size = sizeof(mcp_tool),
     .name = "find_resources",
     .title = "Find resources by name",
     .description = "Finds files, folders, columns and other resources by name or path. Answers as "
                    "list_resources.",
     .input_schema = find_input,
     .output_schema = list_output,
     READ_ONLY,
     .call = bridge_call_find},
    {.size = sizeof(mcp_tool),
     .name = "search_resources",
     .title = "Search in resources",
     .description =
         "Searches the lines of text files and other listed resources for a text or a regular "
         "expression. For each resource its URI, then number and text of its lines. Read around a "
         "line with read_resource: line and lines.",
     .input_schema = search_input,
     .output_schema = search_output,
     READ_ONLY,
     .call = bridge_call_search},
    {.size = sizeof(mcp_tool),
     .name = "read_resource",
     .title = "Read a resource",
     .description =
         "Reads a resource by its URI or path: a file (src/a.c, src/a.c:12), a folder's listing, "
         "or any other of list_resources and its templates. A large one is given in parts; the "
         "answer says how to go on. Of a file give at most one of" FILE_PARAMETERS
         " see the schema.",
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
