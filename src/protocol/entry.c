/* entry.c: see entry.h. */
#include "protocol/entry.h"

#include <mcp/fields.h>
#include <mcp/sys/forward.h>

/* ---- the tables ------------------------------------------------------------------------------ */

#define COL(name) offsetof(mcp__revision, name)
#define SHAPE(type, rows)                    \
    {                                        \
        sizeof(type), rows, MCP__COUNT(rows) \
    }

/* The compiler reports a member of the wrong type. */
#define MEMBER(member_kind, key, type, member, member_type, ...)          \
    {                                                                     \
        .kind = MCP__MEMBER_##member_kind, .name = key,                   \
        .offset = MCP_OFFSET_OF(type, member, member_type *), __VA_ARGS__ \
    }
#define OTHER(type, member, member_type) .other = MCP_OFFSET_OF(type, member, member_type *)
#define ALWAYS                           .column = 0
#define TEXT(key, type, member)          MEMBER(TEXT, key, type, member, const char *, ALWAYS)

/* What several entries have. */
#define NAMES(type)                                                                   \
    MEMBER(NAME, "name", type, name, const char *, OTHER(type, title, const char *)), \
        MEMBER(TEXT, "title", type, title, const char *, .column = COL(title)),       \
        TEXT("description", type, description)
#define ANNOTATIONS(type)                                                     \
    MEMBER(STRUCT, "annotations", type, annotations, const mcp_annotations *, \
           .shape = &mcp__annotations_shape)
#define ICONS_AND_META(type)                                                              \
    MEMBER(STRUCTS, "icons", type, icons, const mcp_icon *, OTHER(type, n_icons, size_t), \
           .shape = &mcp__icon_shape, .column = COL(icons)),                              \
        MEMBER(JSON, "_meta", type, meta, const char *, .column = COL(object_meta))

static const mcp__entry_member annotations[] = {
    MEMBER(AUDIENCE, "audience", mcp_annotations, audience, unsigned, ALWAYS),
    MEMBER(REAL, "priority", mcp_annotations, priority, double,
           OTHER(mcp_annotations, has_priority, bool)),
    MEMBER(TEXT, "lastModified", mcp_annotations, last_modified, const char *,
           .column = COL(last_modified)),
};
const mcp__entry_shape mcp__annotations_shape = SHAPE(mcp_annotations, annotations);

static const mcp__entry_member icon[] = {
    TEXT("src", mcp_icon, src),
    TEXT("mimeType", mcp_icon, mime_type),
    MEMBER(WORDS, "sizes", mcp_icon, sizes, const char *, ALWAYS),
    TEXT("theme", mcp_icon, theme),
};
const mcp__entry_shape mcp__icon_shape = SHAPE(mcp_icon, icon);

static const mcp__entry_member argument[] = {
    NAMES(mcp_prompt_argument),
    MEMBER(TRUE, "required", mcp_prompt_argument, required, bool, ALWAYS),
};
const mcp__entry_shape mcp__argument_shape = SHAPE(mcp_prompt_argument, argument);

static const mcp__entry_member resource[] = {
    TEXT("uri", mcp_resource, uri),
    NAMES(mcp_resource),
    TEXT("mimeType", mcp_resource, mime_type),
    MEMBER(UINT, "size", mcp_resource, resource_size, uint64_t,
           OTHER(mcp_resource, has_size, bool)),
    ANNOTATIONS(mcp_resource),
    ICONS_AND_META(mcp_resource),
};

static const mcp__entry_member template[] = {
    TEXT("uriTemplate", mcp_resource_template, uri_template),
    NAMES(mcp_resource_template),
    TEXT("mimeType", mcp_resource_template, mime_type),
    ANNOTATIONS(mcp_resource_template),
    ICONS_AND_META(mcp_resource_template),
};

static const mcp__entry_member prompt[] = {
    NAMES(mcp_prompt),
    MEMBER(STRUCTS, "arguments", mcp_prompt, arguments, const mcp_prompt_argument *,
           OTHER(mcp_prompt, n_arguments, size_t), .shape = &mcp__argument_shape),
    ICONS_AND_META(mcp_prompt),
};

static const mcp__entry_member hints[] = {
    MEMBER(HINT, "readOnlyHint", mcp_tool, read_only, mcp_hint, ALWAYS),
    MEMBER(HINT, "destructiveHint", mcp_tool, destructive, mcp_hint, ALWAYS),
    MEMBER(HINT, "idempotentHint", mcp_tool, idempotent, mcp_hint, ALWAYS),
    MEMBER(HINT, "openWorldHint", mcp_tool, open_world, mcp_hint, ALWAYS),
};
static const mcp__entry_shape hints_shape = SHAPE(mcp_tool, hints);

static const mcp__entry_member execution[] = {
    MEMBER(TASKS, "taskSupport", mcp_tool, task_support, mcp_task_support, ALWAYS),
};
static const mcp__entry_shape execution_shape = SHAPE(mcp_tool, execution);

static const mcp__entry_member tool[] = {
    NAMES(mcp_tool),
    MEMBER(JSON, "inputSchema", mcp_tool, input_schema, const char *, ALWAYS),
    MEMBER(OUTPUT, "outputSchema", mcp_tool, output_schema, const char *,
           .column = COL(output_schema)),
    {.kind = MCP__MEMBER_PART,
     .name = "annotations",
     .shape = &hints_shape,
     .column = COL(tool_annotations)},
    {.kind = MCP__MEMBER_PART, .name = "execution", .shape = &execution_shape},
    ICONS_AND_META(mcp_tool),
};

const mcp__entry_shape mcp__entry_shapes[] = {
    [MCP_ITEM_RESOURCE] = SHAPE(mcp_resource, resource),
    [MCP_ITEM_TEMPLATE] = SHAPE(mcp_resource_template, template),
    [MCP_ITEM_PROMPT] = SHAPE(mcp_prompt, prompt),
    [MCP_ITEM_TOOL] = SHAPE(mcp_tool, tool),
};

/* Room for a struct of any shape. */
typedef union any {
    size_t size;
    mcp_resource resource;
    mcp_resource_template tmpl;
    mcp_prompt prompt;
    mcp_tool tool;
    mcp_prompt_argument argument;
    mcp_annotations annotations;
    mcp_icon icon;
} any;

size_t mcp__entry_column(const mcp__entry_shape *shape, mcp_str name)
{
    for (size_t i = 0; i < shape->n; i++) {
        if (mcp_str_eq(name, mcp_str_from(shape->members[i].name)))
            return shape->members[i].column;
    }
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void fail(mcp__object *o, int rc)
{
    if (rc != MCP_OK && !o->buf->failed)
        o->buf->failed = rc;
}

void mcp__json_texts_free(mcp__json_texts *texts)
{
    while (texts->n)
        mcp__release(texts->allocator, texts->items[--texts->n].text);
}

/* Parses the text of an object. */
static int read_text(mcp__json_texts *texts, const char *json)
{
    struct mcp__json_text *t = &texts->items[texts->n];
    mcp_json_doc *doc = NULL;
    mcp__buf b;
    mcp__buf_init(&b, texts->allocator, SIZE_MAX);
    int rc = mcp_json_parse(mcp_str_from(json), NULL, texts->allocator, &doc, NULL);
    const mcp_json *root = mcp_json_root(doc);
    if (rc == MCP_OK && !mcp_json_is(root, MCP_JSON_OBJECT))
        rc = MCP_EINVAL;
    if (rc == MCP_OK) {
        mcp__buf_reserve(&b, strlen(json));
        mcp__json_put_value(&b, root);
        rc = b.failed;
    }
    *t = (struct mcp__json_text){
        .given = json,
        .text = b.ptr,
        .len = b.len,
        .of_object = mcp_str_eq(mcp_json_string(mcp_json_get(root, "type")), MCP_STR("object")),
    };
    texts->n++;
    mcp_json_free(doc);
    return rc == MCP_EPARSE ? MCP_EINVAL : rc;
}

static void put_text(mcp__object *o, mcp__json_texts *texts, const char *name, const char *json,
                     bool only_of_object)
{
    size_t i = 0;
    while (i < texts->n && texts->items[i].given != json)
        i++;
    int rc = i == texts->n ? read_text(texts, json) : MCP_OK;
    fail(o, rc);
    if (rc != MCP_OK || (only_of_object && !texts->items[i].of_object))
        return;
    mcp__object_key(o, name);
    mcp__buf_add(o->buf, texts->items[i].text, texts->items[i].len);
}

static void put_json(mcp__object *o, const char *name, const char *json, bool only_of_object)
{
    mcp__json_texts own = {.allocator = o->buf->allocator};
    put_text(o, o->texts ? o->texts : &own, name, json, only_of_object);
    mcp__json_texts_free(&own);
}

static void put_words(mcp__object *o, const char *name, const char *words)
{
    mcp__object_key(o, name);
    mcp__json_list array = mcp__json_begin_array(o->buf);
    for (const char *at = words; *at;) {
        size_t len = strcspn(at, " ");
        if (len) {
            mcp__json_next(&array);
            mcp__json_put_str(o->buf, (mcp_str){at, len});
        }
        at += len + (at[len] == ' ');
    }
    mcp__json_end(&array);
}

static const struct {
    const char *name;
    unsigned bit;
} audiences[] = {{"user", MCP_AUDIENCE_USER}, {"assistant", MCP_AUDIENCE_ASSISTANT}};

static void put_audience(mcp__object *o, const char *name, unsigned audience)
{
    if (!(audience & (MCP_AUDIENCE_USER | MCP_AUDIENCE_ASSISTANT)))
        return;
    mcp__object_key(o, name);
    mcp__json_list array = mcp__json_begin_array(o->buf);
    for (size_t i = 0; i < MCP__COUNT(audiences); i++) {
        if (!(audience & audiences[i].bit))
            continue;
        mcp__json_next(&array);
        mcp__json_put_str(o->buf, mcp_str_from(audiences[i].name));
    }
    mcp__json_end(&array);
}

static void put_bool(mcp__object *o, const char *name, bool value)
{
    mcp__object_key(o, name);
    mcp__buf_str(o->buf, value ? MCP_STR("true") : MCP_STR("false"));
}

static void put_members(mcp__object *o, const mcp__entry_shape *shape, const void *from);

/* Leaves the object out if it has no members. */
static void put_part(mcp__object *o, const char *name, const mcp__entry_shape *shape,
                     const void *from)
{
    mcp__json_list before = o->members;
    size_t len = o->buf->len;
    mcp__object_key(o, name);
    mcp__object inner = mcp__object_begin(o->buf, o->revision);
    put_members(&inner, shape, from);
    mcp__object_end(&inner);
    if (inner.members.any)
        return;
    o->members = before;
    o->buf->len = len;
}

static void put_structs(mcp__object *o, const mcp__entry_member *m, const void *array, size_t n)
{
    any one;
    int rc = mcp__check_array(array, n, m->name, NULL);
    fail(o, rc);
    if (rc != MCP_OK || n == 0)
        return;
    if (m->kind == MCP__MEMBER_STRUCT) {
        mcp__take_element(&one, m->shape->size, array, 0);
        put_part(o, m->name, m->shape, &one);
        return;
    }
    mcp__object_key(o, m->name);
    mcp__json_list list = mcp__json_begin_array(o->buf);
    for (size_t i = 0; i < n; i++) {
        mcp__take_element(&one, m->shape->size, array, i);
        mcp__json_next(&list);
        mcp__object inner = mcp__object_begin(o->buf, o->revision);
        put_members(&inner, m->shape, &one);
        mcp__object_end(&inner);
    }
    mcp__json_end(&list);
}

/* A pointer to structs of any type. */
static const void *pointer_at(const void *at)
{
    const void *structs;
    memcpy(&structs, at, sizeof(structs));
    return structs;
}

static const char *const task_support[] = {
    [MCP_TASK_OPTIONAL] = "optional", [MCP_TASK_REQUIRED] = "required"};

static void put_name(mcp__object *o, const char *name, const char *title)
{
    bool replaced = (!name || !*name) && !o->revision->title && title;
    mcp__object_str(o, "name", replaced ? title : name ? name : "");
}

static void put_member(mcp__object *o, const mcp__entry_member *m, const char *from)
{
    const void *at = from + m->offset, *other = from + m->other;
    const char *text = NULL;
    if (m->kind <= MCP__MEMBER_OUTPUT)
        text = *(const char *const *)at;
    switch (m->kind) {
    case MCP__MEMBER_TEXT: mcp__object_str(o, m->name, text); break;
    case MCP__MEMBER_NAME: put_name(o, text, *(const char *const *)other); break;
    case MCP__MEMBER_WORDS:
        if (text)
            put_words(o, m->name, text);
        break;
    case MCP__MEMBER_JSON:
        if (text)
            put_json(o, m->name, text, false);
        break;
    case MCP__MEMBER_OUTPUT:
        if (text)
            put_json(o, m->name, text, !o->revision->output_schema_any);
        break;
    case MCP__MEMBER_AUDIENCE: put_audience(o, m->name, *(const unsigned *)at); break;
    case MCP__MEMBER_UINT:
        if (*(const bool *)other) {
            mcp__object_key(o, m->name);
            mcp__json_put_uint(o->buf, *(const uint64_t *)at);
        }
        break;
    case MCP__MEMBER_REAL:
        if (*(const bool *)other) {
            mcp__object_key(o, m->name);
            mcp__json_put_real(o->buf, *(const double *)at);
        }
        break;
    case MCP__MEMBER_TRUE:
        if (*(const bool *)at)
            put_bool(o, m->name, true);
        break;
    case MCP__MEMBER_HINT:
        if (*(const mcp_hint *)at)
            put_bool(o, m->name, *(const mcp_hint *)at == MCP_HINT_YES);
        break;
    case MCP__MEMBER_TASKS:
        if (o->revision->tasks == MCP__TASKS_ASKED && *(const mcp_task_support *)at)
            mcp__object_str(
                o, m->name,
                task_support[MCP__MIN(*(const mcp_task_support *)at, MCP_TASK_REQUIRED)]);
        break;
    case MCP__MEMBER_STRUCT: put_structs(o, m, pointer_at(at), pointer_at(at) != NULL); break;
    case MCP__MEMBER_STRUCTS: put_structs(o, m, pointer_at(at), *(const size_t *)other); break;
    case MCP__MEMBER_PART: put_part(o, m->name, m->shape, from); break;
    }
}

static void put_members(mcp__object *o, const mcp__entry_shape *shape, const void *from)
{
    for (size_t i = 0; i < shape->n; i++) {
        if (mcp__revision_has(o->revision, shape->members[i].column))
            put_member(o, &shape->members[i], from);
    }
}

void mcp__object_entry(mcp__object *o, mcp_item kind, const void *descriptor)
{
    put_members(o, &mcp__entry_shapes[kind], descriptor);
}

/* ---- what other objects have, too ------------------------------------------------------------ */

void mcp__object_name(mcp__object *o, const char *name, const char *title)
{
    put_name(o, name, title);
    if (o->revision->title)
        mcp__object_str(o, "title", title);
}

void mcp__object_annotations(mcp__object *o, const mcp_annotations *a)
{
    static const mcp__entry_member member = {
        .kind = MCP__MEMBER_STRUCT, .name = "annotations", .shape = &mcp__annotations_shape};
    put_structs(o, &member, a, a != NULL);
}

void mcp__object_icons(mcp__object *o, const mcp_icon *icons, size_t n)
{
    static const mcp__entry_member member = {
        .kind = MCP__MEMBER_STRUCTS, .name = "icons", .shape = &mcp__icon_shape};
    if (o->revision->icons)
        put_structs(o, &member, icons, n);
}

void mcp__object_meta(mcp__object *o, const char *json)
{
    if (json && o->revision->object_meta)
        put_json(o, "_meta", json, false);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct mcp_entry_memory {
    mcp__arena arena;
    bool failed;
};

static void *take(mcp_entry_memory *memory, size_t size)
{
    void *made = mcp__arena_alloc(&memory->arena, size);
    if (made)
        memset(made, 0, size);
    memory->failed |= !made;
    return made;
}

static const char *keep(mcp_entry_memory *memory, mcp__buf *b)
{
    const char *text = b->failed ? NULL : mcp__arena_strdup(&memory->arena, mcp__buf_view(b));
    memory->failed |= !text;
    mcp__buf_free(b);
    return text;
}

static const char *read_words(mcp_entry_memory *memory, const mcp_json *from)
{
    mcp__buf b;
    const mcp_json *word;
    mcp_json_iter it = {0};
    if (!mcp_json_is(from, MCP_JSON_ARRAY))
        return NULL;
    mcp__buf_init(&b, memory->arena.allocator, 0);
    while ((word = mcp_json_next(from, &it, NULL)) != NULL) {
        if (b.len)
            mcp__buf_char(&b, ' ');
        mcp__buf_str(&b, mcp_json_string(word));
    }
    return keep(memory, &b);
}

static const char *read_json(mcp_entry_memory *memory, const mcp_json *from)
{
    mcp__buf b;
    if (!mcp_json_is(from, MCP_JSON_OBJECT))
        return NULL;
    mcp__buf_init(&b, memory->arena.allocator, 0);
    mcp__json_put_value(&b, from);
    return keep(memory, &b);
}

static unsigned read_audience(const mcp_json *from)
{
    const mcp_json *name;
    mcp_json_iter it = {0};
    unsigned audience = 0;
    while ((name = mcp_json_next(from, &it, NULL)) != NULL) {
        for (size_t i = 0; i < MCP__COUNT(audiences); i++) {
            if (mcp_str_eq(mcp_json_string(name), mcp_str_from(audiences[i].name)))
                audience |= audiences[i].bit;
        }
    }
    return audience;
}

static void read_members(mcp_entry_memory *memory, const mcp__entry_shape *shape,
                         const mcp_json *from, char *to);

/* Returns an array of `n` structs. The value is the array of their objects, or the one object. */
static const void *read_structs(mcp_entry_memory *memory, const mcp__entry_shape *shape,
                                const mcp_json *from, size_t n)
{
    char *array = n ? take(memory, n * shape->size) : NULL;
    for (size_t i = 0; array && i < n; i++) {
        const mcp_json *one = mcp_json_is(from, MCP_JSON_ARRAY) ? mcp_json_at(from, i) : from;
        char *to = array + i * shape->size;
        memcpy(to, &shape->size, sizeof(shape->size));
        read_members(memory, shape, one, to);
    }
    return array;
}

static void read_member(mcp_entry_memory *memory, const mcp__entry_member *m, const mcp_json *v,
                        char *to)
{
    void *at = to + m->offset, *other = to + m->other;
    const void *structs;
    size_t n;
    switch (m->kind) {
    case MCP__MEMBER_TEXT:
    case MCP__MEMBER_NAME: *(const char **)at = mcp_json_string(v).ptr; break;
    case MCP__MEMBER_WORDS: *(const char **)at = read_words(memory, v); break;
    case MCP__MEMBER_JSON:
    case MCP__MEMBER_OUTPUT: *(const char **)at = read_json(memory, v); break;
    case MCP__MEMBER_AUDIENCE: *(unsigned *)at = read_audience(v); break;
    case MCP__MEMBER_UINT: *(bool *)other = mcp__json_uint(v, at); break;
    case MCP__MEMBER_REAL:
        *(bool *)other = mcp_json_is(v, MCP_JSON_INT) || mcp_json_is(v, MCP_JSON_REAL);
        *(double *)at = mcp_json_number(v, 0);
        break;
    case MCP__MEMBER_TRUE: *(bool *)at = mcp_json_bool(v, false); break;
    case MCP__MEMBER_HINT:
        if (mcp_json_is(v, MCP_JSON_BOOL))
            *(mcp_hint *)at = mcp_json_bool(v, false) ? MCP_HINT_YES : MCP_HINT_NO;
        break;
    case MCP__MEMBER_TASKS:
        for (size_t i = 0; i < MCP__COUNT(task_support); i++) {
            if (task_support[i] && mcp_str_eq(mcp_json_string(v), mcp_str_from(task_support[i])))
                *(mcp_task_support *)at = (mcp_task_support)i;
        }
        break;
    case MCP__MEMBER_STRUCTS:
        n = mcp_json_is(v, MCP_JSON_ARRAY) ? mcp_json_count(v) : 0;
        *(size_t *)other = n;
        structs = read_structs(memory, m->shape, v, n);
        memcpy(at, &structs, sizeof(structs));
        break;
    case MCP__MEMBER_STRUCT:
        n = mcp_json_is(v, MCP_JSON_OBJECT);
        structs = read_structs(memory, m->shape, v, n);
        memcpy(at, &structs, sizeof(structs));
        break;
    case MCP__MEMBER_PART: read_members(memory, m->shape, v, to); break;
    }
}

static void read_members(mcp_entry_memory *memory, const mcp__entry_shape *shape,
                         const mcp_json *from, char *to)
{
    for (size_t i = 0; i < shape->n; i++) {
        const mcp__entry_member *m = &shape->members[i];
        read_member(memory, m, mcp_json_get(from, m->name), to);
    }
}

int mcp_entry_read(mcp_item kind, const mcp_json *entry, void *to, const mcp_allocator *allocator,
                   mcp_entry_memory **memory)
{
    if ((size_t)kind >= MCP__COUNT(mcp__entry_shapes) ||
        mcp__check_array(to, 1, "descriptor", NULL) != MCP_OK)
        return MCP_EINVAL;
    const mcp__entry_shape *shape = &mcp__entry_shapes[kind];
    any made = {0};
    size_t room;
    memcpy(&room, to, sizeof(room));
    if (!*memory && (*memory = mcp__zalloc(mcp__allocator(allocator), sizeof(**memory))) != NULL)
        mcp__arena_init(&(*memory)->arena, mcp__allocator(allocator), NULL, 0);
    if (!*memory)
        return MCP_ENOMEM;
    made.size = shape->size;
    read_members(*memory, shape, entry, (char *)&made);
    (void)mcp__take(to, room, &made, "descriptor", NULL);
    return (*memory)->failed ? MCP_ENOMEM : MCP_OK;
}

void mcp_entry_memory_free(mcp_entry_memory *memory)
{
    if (!memory)
        return;
    const mcp_allocator *allocator = memory->arena.allocator;
    mcp__arena_free(&memory->arena);
    mcp__release(allocator, memory);
}
