/* get.c: see get.h.
 *
 * A value is inserted byte for byte and never parsed: messages, markers and resources were
 * recognized when the file was read.
 */
#include "get.h"

#include "buffer.h"

typedef struct getting {
    prompts_document *doc;
    mcp_str *values; /* of the arguments, in order */
    mcp_str *uris;   /* of the resources, in order */
    mcp_allocator alloc;
} getting;

/* ---- messages -------------------------------------------------------------------------------- */

static mcp_str piece_text(const getting *g, const prompts_piece *p)
{
    return p->kind == PROMPTS_VALUE ? g->values[p->argument] : p->text;
}

/* Returns the size of the expanded text, or SIZE_MAX on overflow. */
static size_t expanded(const getting *g)
{
    size_t sum = 0;
    for (size_t i = 0; i < g->doc->n_pieces; i++) {
        size_t len = piece_text(g, &g->doc->pieces[i]).len;
        if (len > SIZE_MAX - sum)
            return SIZE_MAX;
        sum += len;
    }
    return sum;
}

/* Adds the message whose pieces begin at `at`, unless its text is empty. */
static int reply_text(mcp_request *req, const getting *g, size_t *at)
{
    const prompts_piece *p = g->doc->pieces;
    mcp_role role = p[*at].role;
    common_buffer text;
    int rc = MCP_OK;
    common_buffer_init(&text, &g->alloc);
    do {
        mcp_str part = piece_text(g, &p[(*at)++]);
        rc = common_buffer_append(&text, part.ptr, part.len);
    } while (rc == MCP_OK && *at < g->doc->n_pieces && !p[*at].begins);
    if (rc == MCP_OK && text.len)
        rc = mcp_reply_content(
            req, MCP_OPTIONS(mcp_content, .text = {text.ptr, text.len}, .role = role));
    common_buffer_free(&text);
    return rc;
}

/* Copies a JSON string to the request's memory, NUL-terminated. Returns NULL if it is absent. */
static const char *copy_string(mcp_request *req, const mcp_json *value)
{
    mcp_str s = mcp_json_string(value);
    return s.ptr ? mcp_request_strdup(req, s) : NULL;
}

static int reply_blob(mcp_request *req, const getting *g, mcp_content *content, mcp_str blob)
{
    common_buffer bytes;
    size_t len = 0;
    common_buffer_init(&bytes, &g->alloc);
    int rc = common_buffer_reserve(&bytes, blob.len / 4 * 3 + 1);
    if (rc == MCP_OK)
        rc = mcp_base64_decode(bytes.ptr, blob, &len);
    content->bytes = bytes.ptr;
    content->bytes_len = len;
    if (rc == MCP_OK)
        rc = mcp_reply_content(req, content);
    common_buffer_free(&bytes);
    return rc;
}

/* Adds one entry of `contents`. */
static int reply_contents(mcp_request *req, const getting *g, const prompts_piece *p,
                          const mcp_json *entry)
{
    const char *uri = copy_string(req, mcp_json_get(entry, "uri"));
    mcp_str blob = mcp_json_string(mcp_json_get(entry, "blob"));
    mcp_content content = {.size = sizeof(content),
                           .kind = MCP_CONTENT_RESOURCE,
                           .role = p->role,
                           .uri = uri ? uri : p->text.ptr,
                           .mime_type = copy_string(req, mcp_json_get(entry, "mimeType"))};
    if (blob.ptr)
        return reply_blob(req, g, &content, blob);
    content.text = mcp_json_string(mcp_json_get(entry, "text"));
    return mcp_reply_content(req, &content);
}

static int reply_resource(mcp_request *req, const getting *g, const prompts_piece *p,
                          const mcp_json *result)
{
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    const mcp_json *contents = mcp_json_get(result, "contents"), *entry;
    while (rc == MCP_OK && (entry = mcp_json_next(contents, &it, NULL)) != NULL)
        rc = reply_contents(req, g, p, entry);
    return rc;
}

static int reply(mcp_request *req, const getting *g, const mcp_json *const *results)
{
    const prompts_document *d = g->doc;
    int rc = d->description ? mcp_reply_description(req, d->description) : MCP_OK;
    for (size_t at = 0, resource = 0; rc == MCP_OK && at < d->n_pieces;) {
        if (d->pieces[at].kind == PROMPTS_RESOURCE)
            rc = reply_resource(req, g, &d->pieces[at++], results ? results[resource++] : NULL);
        else
            rc = reply_text(req, g, &at);
    }
    return rc;
}

/* ---- resources ------------------------------------------------------------------------------- */

static int on_embedded(mcp_request *req, int rc, const mcp_json *const *results, const char *why,
                       void *user)
{
    getting *g = user;
    if (rc == MCP_OK)
        rc = reply(req, g, results);
    else if (*why)
        rc = mcp_reply_fail(req, MCP_CODE_INTERNAL,
                            "The prompt %s cannot be built: its resource %s", g->doc->name, why);
    prompts_document_unref(g->doc);
    return rc;
}

static int reply_with_resources(mcp_request *req, getting *g, prompts_embeds *embeds)
{
    prompts_document *d = g->doc;
    size_t n = 0;
    g->uris = mcp_request_alloc(req, d->n_resources * sizeof(*g->uris));
    if (!g->uris)
        return MCP_ENOMEM;
    for (size_t i = 0; i < d->n_pieces; i++)
        if (d->pieces[i].kind == PROMPTS_RESOURCE)
            g->uris[n++] = d->pieces[i].text;
    prompts_document_ref(d);
    return prompts_embed(embeds, req, g->uris, n, on_embedded, g);
}

/* ---- prompts/get ----------------------------------------------------------------------------- */

int prompts_get(mcp_request *req, prompts_document *doc, const mcp_json *arguments,
                prompts_embeds *embeds)
{
    getting *g = mcp_request_alloc(req, sizeof(*g));
    mcp_str *values = mcp_request_alloc(req, (doc->n_arguments + 1) * sizeof(*values));
    if (!g || !values)
        return MCP_ENOMEM;
    *g = (getting){.doc = doc, .values = values, .alloc = doc->arena.alloc};
    for (size_t i = 0; i < doc->n_arguments; i++)
        values[i] = mcp_json_string(mcp_json_get(arguments, doc->arguments[i].name));
    if (expanded(g) > PROMPTS_MAX_EXPANDED)
        return mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS,
                              "The prompt %s has more than %d bytes with these arguments",
                              doc->name, PROMPTS_MAX_EXPANDED);
    return doc->n_resources ? reply_with_resources(req, g, embeds) : reply(req, g, NULL);
}

/* ---- completion ------------------------------------------------------------------------------ */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool begins_with(mcp_str s, mcp_str prefix)
{
    if (s.len < prefix.len)
        return false;
    for (size_t i = 0; i < prefix.len; i++) {
        if (lower(s.ptr[i]) != lower(prefix.ptr[i]))
            return false;
    }
    return true;
}

int prompts_complete(mcp_request *req, const prompts_document *doc, mcp_str name, mcp_str value)
{
    int rc = MCP_OK;
    for (size_t i = 0; i < doc->n_arguments; i++) {
        const prompts_argument *a = &doc->arguments[i];
        if (!mcp_str_eq(name, mcp_str_from(a->name)))
            continue;
        for (size_t j = 0; rc == MCP_OK && j < a->n_choices; j++) {
            if (begins_with(a->choices[j], value))
                rc = mcp_reply_completion(req, a->choices[j]);
        }
    }
    return rc;
}
