/* pass.c: converts results of another server to the form of a peer's revision, as text.
 *
 * The table lists the members that are changed: those that only some revisions have, those that
 * this server replaces, and those that contain URIs and names. Everything else is copied unchanged,
 * so that numbers keep their digits and unknown members stay. Members are only removed: a member
 * that an older server does not send need not be added.
 *
 * If an element of an array has a name that does not exist for the peer, the whole element is left
 * out.
 */
#include "protocol/pass.h"

#include "protocol/entry.h"

#include <mcp/sys/json.h>
#include <stddef.h>

typedef enum action {
    KEEP = 0, /* copy, converted as an object of the shape `inner` */
    /* the same, but if the value does not exist for the peer, only the member is left out */
    DROP_OR_KEEP,
    DROP_OR_NAME, /* the same for a name or URI */
    EACH,         /* an array of objects of the shape `inner` */
    HOP,          /* left out; this server writes its own */
    NAME,         /* a name or URI, which is replaced; `inner` is its mcp__pass_name */
    VALUES,       /* the values of a completion */
    COUNT,        /* the number of all values; left out if some of them may be hidden */
    RESULT_META,
    OUTPUT_SCHEMA,
    STRUCTURED,
    EXECUTION,
    BLOCKS,   /* a content block, or an array of them */
    MESSAGES, /* of sampling, with several contents where the revision has that */
    LABEL,    /* a text for the user, which names the other server */
    LOGGER,   /* the part of the other server that logs */
    ASKER_ID, /* an identifier that the other server chose */
    FORM,
    CONTENT, /* of a CreateMessageResult, with one block where the revision has no arrays */
} action;

typedef struct row {
    mcp__pass_shape shape;
    const char *member;
    action action;
    unsigned inner;
    /* Offset of a bool in mcp__revision. The member is left out for revisions where that bool is
     * false. 0 means that all revisions have the member. */
    size_t column;
} row;

#define COL(name) offsetof(mcp__revision, name)

static const row rows[] = {
    {MCP__PASS_READ, "contents", EACH, MCP__PASS_CONTENTS, 0},
    {MCP__PASS_CALL, "content", EACH, MCP__PASS_BLOCK, 0},
    {MCP__PASS_CALL, "structuredContent", STRUCTURED, 0, 0},
    {MCP__PASS_GET, "messages", EACH, MCP__PASS_MESSAGE, 0},
    {MCP__PASS_COMPLETE, "completion", KEEP, MCP__PASS_COMPLETION, 0},
    {MCP__PASS_COMPLETION, "values", VALUES, 0, 0},
    {MCP__PASS_COMPLETION, "total", COUNT, 0, 0},
    {MCP__PASS_MESSAGE, "content", BLOCKS, MCP__PASS_BLOCK, 0},
    {MCP__PASS_MESSAGE, "_meta", KEEP, 0, COL(object_meta)},
    {MCP__PASS_BLOCK, "resource", KEEP, MCP__PASS_CONTENTS, 0},
    {MCP__PASS_BLOCK, "content", EACH, MCP__PASS_BLOCK, 0}, /* of a tool_result */
    {MCP__PASS_BLOCK, "uri", NAME, MCP__PASS_NAME_URI, 0},
    {MCP__PASS_BLOCK, "annotations", KEEP, MCP__PASS_ANNOTATIONS, 0},
    {MCP__PASS_CONTENTS, "uri", NAME, MCP__PASS_NAME_URI, 0},
    {MCP__PASS_CONTENTS, "_meta", KEEP, 0, COL(object_meta)},

    {MCP__PASS_RESOURCE, "uri", NAME, MCP__PASS_NAME_URI, 0},
    {MCP__PASS_RESOURCE, "annotations", KEEP, MCP__PASS_ANNOTATIONS, 0},
    {MCP__PASS_TEMPLATE, "uriTemplate", NAME, MCP__PASS_NAME_TEMPLATE, 0},
    {MCP__PASS_TEMPLATE, "annotations", KEEP, MCP__PASS_ANNOTATIONS, 0},
    {MCP__PASS_PROMPT, "name", NAME, MCP__PASS_NAME_PROMPT, 0},
    {MCP__PASS_PROMPT, "arguments", EACH, MCP__PASS_ARGUMENT, 0},
    {MCP__PASS_TOOL, "name", NAME, MCP__PASS_NAME_TOOL, 0},
    {MCP__PASS_TOOL, "outputSchema", OUTPUT_SCHEMA, 0, 0},
    {MCP__PASS_TOOL, "execution", EXECUTION, 0, 0},
    {MCP__PASS_TOOL, "_meta", KEEP, MCP__PASS_TOOL_META, 0},
    {MCP__PASS_TOOL_META, "ui", DROP_OR_KEEP, MCP__PASS_UI, 0},
    {MCP__PASS_TOOL_META, "ui/resourceUri", DROP_OR_NAME, MCP__PASS_NAME_URI, 0},
    /* the same in hosts that have it from before the extension */
    {MCP__PASS_TOOL_META, "openai/outputTemplate", DROP_OR_NAME, MCP__PASS_NAME_URI, 0},
    {MCP__PASS_UI, "resourceUri", NAME, MCP__PASS_NAME_URI, 0},
    {MCP__PASS_ERROR_DATA, "uri", NAME, MCP__PASS_NAME_URI, 0},
    {MCP__PASS_URL_DATA, "elicitations", EACH, MCP__PASS_ELICIT, 0},
    {MCP__PASS_PROGRESS, "progressToken", HOP, 0, 0},
    {MCP__PASS_PROGRESS, "message", KEEP, 0, COL(progress_message)},
    {MCP__PASS_PROGRESS, "_meta", KEEP, MCP__PASS_NOTICE_META, 0},
    {MCP__PASS_LOG, "logger", LOGGER, 0, 0},
    {MCP__PASS_LOG, "_meta", HOP, 0, 0}, /* written by the caller of mcp__pass_members() */
    {MCP__PASS_ELICIT, "mode", KEEP, 0, COL(elicitation_modes)},
    {MCP__PASS_ELICIT, "message", LABEL, 0, 0},
    {MCP__PASS_ELICIT, "elicitationId", ASKER_ID, 0, COL(elicitation_id)},
    {MCP__PASS_ELICIT, "requestedSchema", FORM, 0, 0},
    {MCP__PASS_ELICIT, "task", HOP, 0, 0},
    {MCP__PASS_ELICIT, "_meta", KEEP, MCP__PASS_NOTICE_META, 0},
    {MCP__PASS_SAMPLE, "messages", MESSAGES, MCP__PASS_MESSAGE, 0},
    /* "thisServer" would be understood as this server, with everything that it forwards */
    {MCP__PASS_SAMPLE, "includeContext", HOP, 0, 0},
    {MCP__PASS_SAMPLE, "task", HOP, 0, 0},
    {MCP__PASS_SAMPLE, "_meta", KEEP, MCP__PASS_NOTICE_META, 0},
    {MCP__PASS_ROOTS, "_meta", KEEP, MCP__PASS_NOTICE_META, 0},
    {MCP__PASS_ANSWER, "resultType", HOP, 0, 0},
    {MCP__PASS_ANSWER, "_meta", KEEP, MCP__PASS_NOTICE_META, 0},
    {MCP__PASS_ANSWER, "content", CONTENT, 0, 0},
    {MCP__PASS_NOTICE_META, "progressToken", HOP, 0, 0},
    {MCP__PASS_NOTICE_META, MCP__META_SERVER_INFO, HOP, 0, 0},
    {MCP__PASS_NOTICE_META, MCP__META_SUBSCRIPTION, HOP, 0, 0},
    {MCP__PASS_NOTICE_META, MCP__META_RELATED_TASK, HOP, 0, 0},
};

/* The shapes whose members have columns of their own in entry.c, besides those in `rows`. A resource
 * link is a resource, and other content blocks share its members. */
static const mcp__entry_shape *const shapes[] = {
    [MCP__PASS_RESOURCE] = &mcp__entry_shapes[MCP_ITEM_RESOURCE],
    [MCP__PASS_TEMPLATE] = &mcp__entry_shapes[MCP_ITEM_TEMPLATE],
    [MCP__PASS_PROMPT] = &mcp__entry_shapes[MCP_ITEM_PROMPT],
    [MCP__PASS_TOOL] = &mcp__entry_shapes[MCP_ITEM_TOOL],
    [MCP__PASS_BLOCK] = &mcp__entry_shapes[MCP_ITEM_RESOURCE],
    [MCP__PASS_ARGUMENT] = &mcp__argument_shape,
    [MCP__PASS_ANNOTATIONS] = &mcp__annotations_shape,
};

/* Members that every result can have. */
static const row result_rows[] = {
    {0, "resultType", HOP, 0, 0}, {0, "ttlMs", HOP, 0, 0},         {0, "cacheScope", HOP, 0, 0},
    {0, "nextCursor", HOP, 0, 0}, {0, "_meta", RESULT_META, 0, 0},
};

static bool is_result(mcp__pass_shape shape)
{
    return shape >= MCP__PASS_READ && shape <= MCP__PASS_OTHER;
}

static const row *find_row(mcp__pass_shape shape, mcp_str member)
{
    for (size_t i = 0; is_result(shape) && i < MCP__COUNT(result_rows); i++) {
        if (mcp_str_eq(member, mcp_str_from(result_rows[i].member)))
            return &result_rows[i];
    }
    for (size_t i = 0; shape != MCP__PASS_ANY && i < MCP__COUNT(rows); i++) {
        if (rows[i].shape == shape && mcp_str_eq(member, mcp_str_from(rows[i].member)))
            return &rows[i];
    }
    return NULL;
}

/* Returns whether the peer's revision has the member, whose row may be NULL. */
static bool has(const mcp__pass *p, mcp__pass_shape shape, const row *r, mcp_str member)
{
    size_t column = r ? r->column : 0;
    if (!column && (size_t)shape < MCP__COUNT(shapes) && shapes[shape])
        column = mcp__entry_column(shapes[shape], member);
    return mcp__revision_has(p->to, column);
}

static bool is_object_schema(const mcp_json *schema)
{
    return mcp_str_eq(mcp_json_string(mcp_json_get(schema, "type")), MCP_STR("object"));
}

/* Returns whether the revision allows this value as structuredContent. */
static bool allows_structured(const mcp__revision *r, const mcp_json *structured)
{
    return r->structured && (r->structured_any || mcp_json_is(structured, MCP_JSON_OBJECT));
}

/* Returns whether the tools that the peer gets say if they can be called as tasks. */
static bool has_execution(const mcp__pass *p)
{
    return p->tasks && p->to->tasks == MCP__TASKS_ASKED;
}

static bool is_left_out(const mcp__pass *p, mcp__pass_shape shape, const row *r, mcp_str member,
                        const mcp_json *value)
{
    switch (r ? r->action : KEEP) {
    case HOP: return true;
    case COUNT: return p->value != NULL;
    case EXECUTION: return !has_execution(p);
    case STRUCTURED: return !allows_structured(p->to, value);
    case OUTPUT_SCHEMA:
        return !has(p, shape, r, member) || (!p->to->output_schema_any && !is_object_schema(value));
    default: return !has(p, shape, r, member);
    }
}

/* Returns whether objects of this shape can be forwarded unchanged to a peer whose revision has all
 * of their possible members. */
static bool is_same(const mcp__pass *p, unsigned shape)
{
    const mcp__revision *r = p->to;
    bool content = shape == MCP__PASS_CONTENTS || shape == MCP__PASS_BLOCK ||
                   shape == MCP__PASS_MESSAGE || shape == MCP__PASS_ANNOTATIONS;
    return content && p->same_names && r->title && r->icons && r->object_meta && r->last_modified &&
           r->audio && r->resource_link;
}

/* ---- contents that some revisions do not have ------------------------------------------------ */

/* Returns the number of bytes that a Base64 text decodes to. */
static size_t decoded_size(mcp_str text)
{
    size_t padding = 0;
    while (padding < 2 && padding < text.len && text.ptr[text.len - 1 - padding] == '=')
        padding++;
    return text.len / 4 * 3 - (text.len >= 4 ? padding : 0);
}

/* If the revision does not have this kind of content block, returns true and fills *c for
 * put_stand_in(). */
static bool is_unsupported(const mcp__revision *r, const mcp_json *block, mcp_content *c)
{
    mcp_str type = mcp_json_string(mcp_json_get(block, "type"));
    *c = (mcp_content){.size = sizeof(*c),
                       .mime_type = mcp_json_string(mcp_json_get(block, "mimeType")).ptr};
    if (!r->audio && mcp_str_eq(type, MCP_STR("audio"))) {
        c->kind = MCP_CONTENT_AUDIO;
        c->bytes = "";
        c->bytes_len = decoded_size(mcp_json_string(mcp_json_get(block, "data")));
        return true;
    }
    c->kind = MCP_CONTENT_LINK;
    return !r->resource_link && mcp_str_eq(type, MCP_STR("resource_link"));
}

static bool put_stand_in(const mcp__pass *p, mcp__buf *b, const mcp_json *block, mcp_content *c)
{
    mcp__buf uri;
    mcp__buf_init(&uri, b->allocator, 0);
    mcp_str given = mcp_json_string(mcp_json_get(block, "uri"));
    bool exists = !given.ptr || p->name(p->user, MCP__PASS_NAME_URI, given, &uri);
    mcp__buf_char(&uri, 0);
    if (uri.failed && !b->failed)
        b->failed = uri.failed;
    c->uri = given.ptr && !uri.failed ? uri.ptr : NULL;
    if (exists)
        mcp__put_content_block(b, p->to, c);
    mcp__buf_free(&uri);
    return exists;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool put_name(const mcp__pass *p, mcp__buf *b, mcp__pass_name kind, const mcp_json *value,
                     mcp_str text)
{
    mcp__buf name;
    if (!mcp_json_is(value, MCP_JSON_STRING)) {
        mcp__json_put_text(b, text);
        return true;
    }
    mcp__buf_init(&name, b->allocator, 0);
    bool exists = p->name(p->user, kind, mcp_json_string(value), &name);
    if (name.failed && !b->failed)
        b->failed = name.failed;
    else if (exists)
        mcp__json_put_str(b, mcp__buf_view(&name));
    mcp__buf_free(&name);
    return exists;
}

static void put_each(const mcp__pass *p, mcp__buf *b, mcp__pass_shape shape, const mcp_json *array,
                     mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    const mcp_json *v;
    mcp_str element;
    mcp__json_list list = mcp__json_begin_array(b);
    while ((v = mcp_json_next(array, &it, NULL)) != NULL &&
           mcp_json_text_next(text, &texts, NULL, &element)) {
        mcp__json_list before = list;
        size_t start = b->len;
        mcp__json_next(&list);
        if (mcp__pass_object(p, b, shape, v, element) || b->failed)
            continue;
        b->len = start;
        list = before;
    }
    mcp__json_end(&list);
}

static void put_values(const mcp__pass *p, mcp__buf *b, const mcp_json *array, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    const mcp_json *v;
    mcp_str element;
    mcp__json_list list = mcp__json_begin_array(b);
    while ((v = mcp_json_next(array, &it, NULL)) != NULL &&
           mcp_json_text_next(text, &texts, NULL, &element)) {
        if (p->value && !p->value(p->user, mcp_json_string(v)))
            continue;
        mcp__json_next(&list);
        mcp__json_put_text(b, element);
    }
    mcp__json_end(&list);
}

/* Returns whether structuredContent has to be sent as text: it is the only content, and the
 * revision of the peer does not allow it (2026-07-28, server/tools, "Structured Content"). */
static bool needs_text(const mcp__pass *p, mcp__pass_shape shape, const mcp_json *result)
{
    const mcp_json *structured = mcp_json_get(result, "structuredContent");
    return shape == MCP__PASS_CALL && structured && !allows_structured(p->to, structured) &&
           mcp_json_count(mcp_json_get(result, "content")) == 0;
}

static void put_as_text(const mcp__pass *p, mcp__buf *b, const mcp_json *structured)
{
    mcp__buf text;
    mcp__buf_init(&text, b->allocator, 0);
    mcp__json_put_value(&text, structured);
    const mcp_content c = {.size = sizeof(c), .text = mcp__buf_view(&text)};
    if (text.failed && !b->failed)
        b->failed = text.failed;
    mcp__buf_char(b, '[');
    mcp__put_content_block(b, p->to, &c);
    mcp__buf_char(b, ']');
    mcp__buf_free(&text);
}

static void take_meta(const mcp__pass *p, const mcp_json *meta, mcp_str text)
{
    static const char *const connection_keys[] = {MCP__META_SERVER_INFO, MCP__META_SUBSCRIPTION,
                                                  MCP__META_RELATED_TASK};
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, value;
    if (!mcp_json_is(meta, MCP_JSON_OBJECT)) /* the entries of an array have no keys */
        return;
    while (mcp_json_next(meta, &it, &key) && mcp_json_text_next(text, &texts, NULL, &value)) {
        bool is_own = false;
        for (size_t i = 0; i < MCP__COUNT(connection_keys); i++)
            is_own = is_own || mcp_str_eq(key, mcp_str_from(connection_keys[i]));
        if (!is_own)
            p->meta(p->user, key, value);
    }
}

static bool put_value(const mcp__pass *p, mcp__buf *b, const row *r, const mcp_json *value,
                      mcp_str text)
{
    bool array = mcp_json_is(value, MCP_JSON_ARRAY);
    switch (r->action) {
    case NAME:
    case DROP_OR_NAME: return put_name(p, b, (mcp__pass_name)r->inner, value, text);
    case KEEP:
    case DROP_OR_KEEP:
        if (r->inner && !is_same(p, r->inner))
            return mcp__pass_object(p, b, (mcp__pass_shape)r->inner, value, text);
        break;
    case EACH:
        if (array && !is_same(p, r->inner)) {
            put_each(p, b, (mcp__pass_shape)r->inner, value, text);
            return true;
        }
        break;
    case BLOCKS:
        if (is_same(p, r->inner))
            break;
        if (!array)
            return mcp__pass_object(p, b, (mcp__pass_shape)r->inner, value, text);
        put_each(p, b, (mcp__pass_shape)r->inner, value, text);
        return true;
    case MESSAGES:
        if (array) {
            mcp__pass_messages(p, b, value, text);
            return true;
        }
        break;
    case LABEL: mcp__pass_after_asker(p, b, ": ", text); return true;
    case LOGGER: mcp__pass_after_asker(p, b, "/", text); return true;
    case ASKER_ID: mcp__pass_after_asker(p, b, ":", text); return true;
    case FORM: return mcp__pass_form(p, b, value, text);
    case CONTENT:
        if (array && !p->to->sampling_tools) {
            mcp__pass_one_block(b, value, text);
            return true;
        }
        break;
    case VALUES:
        if (array) {
            put_values(p, b, value, text);
            return true;
        }
        break;
    default: break;
    }
    mcp__json_put_text(b, text);
    return true;
}

/* Appends a member, with its comma. Returns false if the whole object does not exist for the
 * peer. */
static bool put_member(const mcp__pass *p, mcp__json_list *list, const row *r, mcp_str key,
                       const mcp_json *value, mcp_str text)
{
    mcp__json_list before = *list;
    mcp__buf *b = list->buf;
    size_t start = b->len;
    mcp__json_key(list, key);
    if (!r)
        mcp__json_put_text(b, text);
    else if (!put_value(p, b, r, value, text)) {
        if (r->action != DROP_OR_KEEP && r->action != DROP_OR_NAME)
            return false;
        b->len = start;
        *list = before;
    }
    return true;
}

static bool put_members(const mcp__pass *p, mcp__json_list *list, mcp__pass_shape shape,
                        const mcp_json *value, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {.count = mcp_json_count(value)};
    const mcp_json *v;
    mcp_str key, member;
    bool as_text = needs_text(p, shape, value);
    const mcp__pass_titles words = mcp__pass_titles_of(p, shape, value);
    while ((v = mcp_json_next(value, &it, &key)) != NULL &&
           mcp_json_text_next(text, &texts, NULL, &member)) {
        const row *r = find_row(shape, key);
        if (r && r->action == RESULT_META) {
            take_meta(p, v, member);
        } else if (as_text && mcp_str_eq(key, MCP_STR("content"))) {
            mcp__json_key(list, key);
            put_as_text(p, list->buf, mcp_json_get(value, "structuredContent"));
        } else if (!is_left_out(p, shape, r, key, v) &&
                   !mcp__pass_word(p, list, &words, key, v, member) &&
                   !put_member(p, list, r, key, v, member)) {
            return false;
        }
    }
    mcp__pass_end_titles(p, list, &words);
    return true;
}

bool mcp__pass_members(const mcp__pass *pass, mcp__buf *b, mcp__pass_shape shape,
                       const mcp_json *value, mcp_str text)
{
    mcp__json_list list = {.buf = b};
    return put_members(pass, &list, shape, value, text);
}

bool mcp__pass_page_member(const mcp__pass *pass, mcp_str key, const mcp_json *value, mcp_str text)
{
    const row *r = find_row(MCP__PASS_OTHER, key);
    if (r && r->action == RESULT_META)
        take_meta(pass, value, text);
    return !r;
}

bool mcp__pass_object(const mcp__pass *pass, mcp__buf *b, mcp__pass_shape shape,
                      const mcp_json *value, mcp_str text)
{
    mcp_content c;
    if (!mcp_json_is(value, MCP_JSON_OBJECT)) {
        mcp__json_put_text(b, text);
        return true;
    }
    if (shape == MCP__PASS_BLOCK && is_unsupported(pass->to, value, &c))
        return put_stand_in(pass, b, value, &c);
    mcp__json_list list = mcp__json_begin_object(b);
    if (!put_members(pass, &list, shape, value, text))
        return false;
    if (shape == MCP__PASS_TOOL && has_execution(pass) && !mcp_json_get(value, "execution")) {
        mcp__json_name(&list, "execution");
        mcp__buf_lit(b, "{\"taskSupport\":\"optional\"}");
    }
    mcp__json_end(&list);
    return true;
}

/* ---- errors ---------------------------------------------------------------------------------- */

int mcp__pass_code(const mcp__revision *to, int64_t code, bool unknown_resource)
{
    /* These errors concern the connection to the other server, and not the request of the peer. */
    static const int connection_codes[] = {MCP__HEADER_MISMATCH, MCP__MISSING_CAPABILITY,
                                           MCP__UNSUPPORTED_REVISION, MCP__URL_REQUIRED};
    if (unknown_resource || code == MCP__LEGACY_NOT_FOUND)
        return to->not_found;
    for (size_t i = 0; i < MCP__COUNT(connection_codes); i++) {
        if (code == connection_codes[i])
            return MCP__INTERNAL_ERROR;
    }
    return code >= INT32_MIN && code <= INT32_MAX ? (int)code : MCP__INTERNAL_ERROR;
}
