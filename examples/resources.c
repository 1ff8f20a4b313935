/* resources.c: a provider of many notes at notes:///, which clients can list in pages, read,
 * complete and watch.
 *
 *     mcpctl ls -- ./resources
 *     mcpctl read notes:///shopping -- ./resources
 *     ./resources --http 127.0.0.1:8642
 *
 * Register a few fixed resources one by one (see hello.c). Use a provider for resources that are
 * many, change often, or are stored elsewhere: they need no registration. The names of these notes
 * are valid in a URI; other names would need mcp_uri_encode_segment().
 */
#include <mcp/io.h>
#include <stdio.h>
#include <stdlib.h>

#define PREFIX    "notes:///"
#define NAME_RULE "\"type\":\"string\",\"pattern\":\"^[a-z0-9-]{1,32}$\""

enum { MAX_NOTES = 1000, NAME_SIZE = 33, TEXT_SIZE = 1001, URI_SIZE = sizeof(PREFIX) + NAME_SIZE };

typedef struct note {
    char name[NAME_SIZE], text[TEXT_SIZE];
} note;

typedef struct notes {
    mcp_server *server;
    size_t count;
    note all[MAX_NOTES]; /* in the order of their names */
} notes;

static int compare(const note *n, mcp_str name)
{
    size_t len = strlen(n->name), shorter = len < name.len ? len : name.len;
    int rc = shorter ? memcmp(n->name, name.ptr, shorter) : 0;
    return rc ? rc : (len > name.len) - (len < name.len);
}

/* Returns the number of notes whose names sort before this one. */
static size_t place_of(const notes *n, mcp_str name)
{
    size_t i = 0;
    while (i < n->count && compare(&n->all[i], name) < 0)
        i++;
    return i;
}

static note *note_named(notes *n, mcp_str name)
{
    size_t i = place_of(n, name);
    return i < n->count && compare(&n->all[i], name) == 0 ? &n->all[i] : NULL;
}

static const char *uri_of(const note *n, char uri[URI_SIZE])
{
    snprintf(uri, URI_SIZE, PREFIX "%s", n->name);
    return uri;
}

/* ---- the provider ---------------------------------------------------------------------------- */

/* The cursor is the name of the last note of the previous page: a position in the order that stays
 * valid when notes are added or removed. */
static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    notes *n = user;
    size_t i = cursor.len ? place_of(n, cursor) : 0;
    if (cursor.len && note_named(n, cursor))
        i++;
    for (; i < n->count; i++) {
        const note *it = &n->all[i];
        char uri[URI_SIZE];
        if (max-- == 0)
            return mcp_reply_next(req, mcp_str_from(it[-1].name));
        int rc = mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = uri_of(it, uri),
                                                     .name = it->name, .mime_type = "text/plain",
                                                     .has_size = true,
                                                     .resource_size = strlen(it->text)));
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

static int read_note(mcp_request *req, mcp_str uri, void *user)
{
    const size_t skip = sizeof(PREFIX) - 1;
    const note *it = note_named(user, (mcp_str){uri.ptr + skip, uri.len - skip});
    return it ? mcp_reply_str(req, mcp_str_from(it->text), "text/plain") : MCP_ENOTFOUND;
}

/* Accepts every URI with the prefix, even if the note does not exist yet. Each URI has only one
 * spelling. */
static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    if (uri.len >= room)
        return MCP_ELIMIT;
    memcpy(canonical, uri.ptr, uri.len);
    canonical[uri.len] = '\0';
    return MCP_OK;
}

/* There is nothing to start: all changes go through write_note(), which reports them. */
static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    return MCP_OK;
}

static const mcp_provider provider = {
    .size = sizeof(mcp_provider),
    .name = "notes",
    .list = list,
    .read = read_note,
    .resolve = resolve,
    .watch = watch,
    .release = free,
};

/* ---- a template: one line of a note ---------------------------------------------------------- */

/* Finds a line of a text by its number, counted from 1. Returns false if there are fewer lines. */
static bool line_of(const char *text, unsigned long number, mcp_str *ret)
{
    while (number > 1 && *text) {
        const char *end = strchr(text, '\n');
        text = end ? end + 1 : "";
        number--;
    }
    *ret = (mcp_str){text, strcspn(text, "\n")};
    return number == 1 && *text;
}

static int read_line(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    mcp_str name = {0}, digits = {0}, line;
    (void)uri;
    mcp_uri_match_get(match, "name", &name);
    mcp_uri_match_get(match, "line", &digits);
    const note *it = note_named(user, name);
    const char *number = mcp_request_strdup(req, digits);
    if (!number)
        return MCP_ENOMEM;
    if (!it || !line_of(it->text, strtoul(number, NULL, 10), &line))
        return MCP_ENOTFOUND;
    return mcp_reply_str(req, line, "text/plain");
}

static void complete_name(mcp_request *req, mcp_str begun, const notes *n)
{
    for (size_t i = place_of(n, begun); i < n->count; i++) {
        if (begun.len && strncmp(n->all[i].name, begun.ptr, begun.len) != 0)
            return; /* names with the same prefix are adjacent */
        mcp_reply_completion(req, mcp_str_from(n->all[i].name));
    }
}

static void complete_line(mcp_request *req, mcp_str begun, const note *it)
{
    char number[24];
    mcp_str line;
    for (unsigned long i = 1; it && line_of(it->text, i, &line); i++) {
        snprintf(number, sizeof(number), "%lu", i);
        if (!begun.len || strncmp(number, begun.ptr, begun.len) == 0)
            mcp_reply_completion(req, mcp_str_from(number));
    }
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    if (mcp_str_eq(name, MCP_STR("name")))
        complete_name(req, value, user);
    else
        complete_line(req, value, note_named(user, mcp_json_string(mcp_json_get(context, "name"))));
    return MCP_OK;
}

static const mcp_resource_template line_template = {
    .size = sizeof(mcp_resource_template),
    .uri_template = PREFIX "{name}/{line}",
    .name = "line",
    .description = "One line of a note, counted from 1",
    .mime_type = "text/plain",
    .read = read_line,
    .complete = complete,
};

/* ---- tools: change and find notes ------------------------------------------------------------ */

/* Inserts a new note at its place in the order. Returns NULL if there is no room. */
static note *note_add(notes *n, mcp_str name)
{
    size_t i = place_of(n, name);
    if (n->count == MAX_NOTES)
        return NULL;
    memmove(&n->all[i + 1], &n->all[i], (n->count++ - i) * sizeof(note));
    snprintf(n->all[i].name, NAME_SIZE, "%.*s", (int)name.len, name.ptr);
    return &n->all[i];
}

static int write_note(mcp_request *req, const mcp_json *arguments, void *user)
{
    notes *n = user;
    mcp_str name = mcp_json_string(mcp_json_get(arguments, "name"));
    mcp_str text = mcp_json_string(mcp_json_get(arguments, "text"));
    char uri[URI_SIZE];
    if (text.len >= TEXT_SIZE)
        return mcp_reply_tool_error(req, "The text has %zu bytes; at most %d are allowed", text.len,
                                    TEXT_SIZE - 1);
    note *it = note_named(n, name);
    bool is_new = !it;
    if (is_new && !(it = note_add(n, name)))
        return mcp_reply_tool_error(req, "There are %d notes already, which is the maximum",
                                    MAX_NOTES);
    snprintf(it->text, TEXT_SIZE, "%.*s", (int)text.len, text.ptr);
    mcp_server_resource_updated(n->server, uri_of(it, uri));
    if (is_new)
        mcp_server_resources_changed(n->server);
    return mcp_reply_textf(req, "Written to %s", uri);
}

static int find_notes(mcp_request *req, const mcp_json *arguments, void *user)
{
    const notes *n = user;
    const char *word = mcp_request_strdup(req, mcp_json_string(mcp_json_get(arguments, "word")));
    int rc = word ? mcp_reply_text(req, "These notes have it:") : MCP_ENOMEM;
    for (size_t i = 0; rc == MCP_OK && i < n->count; i++) {
        const note *it = &n->all[i];
        char uri[URI_SIZE];
        if (strstr(it->text, word))
            rc = mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_LINK,
                                                    .uri = uri_of(it, uri), .name = it->name,
                                                    .mime_type = "text/plain"));
    }
    return rc;
}

static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool),
     .name = "write_note",
     .description = "Write a note; replaces an existing note with this name",
     .input_schema = "{\"type\":\"object\",\"required\":[\"name\",\"text\"],\"properties\":{"
                     "\"name\":{" NAME_RULE "},\"text\":{\"type\":\"string\"}}}",
     .idempotent = MCP_HINT_YES,
     .call = write_note},
    {.size = sizeof(mcp_tool),
     .name = "find_notes",
     .description = "Find the notes that contain a word",
     .input_schema = "{\"type\":\"object\",\"required\":[\"word\"],"
                     "\"properties\":{\"word\":{\"type\":\"string\",\"minLength\":1}}}",
     .read_only = MCP_HINT_YES,
     .call = find_notes},
};

/* ---- the server ------------------------------------------------------------------------------ */

static int offer(mcp_server *server, mcp_error *error)
{
    notes *n = calloc(1, sizeof(*n));
    if (!n)
        return MCP_ENOMEM;
    n->server = server;
    n->all[n->count++] = (note){"shopping", "milk\nbread\na cake\n"};
    n->all[n->count++] = (note){"todo", "write a provider\n"};
    int rc = mcp_server_mount(server, PREFIX, &provider, n, error); /* owns n */
    if (rc == MCP_OK)
        rc = mcp_server_add_template(server, &line_template, n, error);
    for (size_t i = 0; rc == MCP_OK && i < sizeof(tools) / sizeof(tools[0]); i++)
        rc = mcp_server_add_tool(server, &tools[i], n, error);
    return rc;
}

static int serve(mcp_server *server, int argc, char **argv, mcp_error *error)
{
    if (argc == 3 && strcmp(argv[1], "--http") == 0)
        return mcp_serve_http(server, argv[2], NULL, error);
    return mcp_serve_stdio(server, error);
}

int main(int argc, char **argv)
{
    mcp_server *server = NULL;
    mcp_error error = {0};
    int rc = mcp_server_new(
        MCP_OPTIONS(mcp_server_options, .name = "resources", .version = "1.0", .page_size = 100),
        &server, &error);
    if (rc == MCP_OK)
        rc = offer(server, &error);
    if (rc == MCP_OK)
        rc = serve(server, argc, argv, &error);
    if (rc != MCP_OK)
        fprintf(stderr, "resources: %s\n", error.text);
    mcp_server_free(server);
    return rc == MCP_OK ? 0 : 1;
}
