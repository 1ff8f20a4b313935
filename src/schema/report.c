/* report.c: explains why a value does not conform, so that a model can correct its call.
 *
 * None of this code runs while a value conforms, or in a branch whose failure is not reported, so
 * it may allocate memory. Text from the value or the schema is shortened and its control characters
 * are replaced, because it may be shown on a terminal.
 */
#include <stdio.h>

#include "schema/schema.h"

enum {
    LONGEST_VALUE = 120, /* bytes of a JSON value in a message */
    LONGEST_LIST = 160,  /* bytes of a list of values in a message */
    LONGEST_PATH = 100,  /* bytes of a path in the text of an mcp_error */
    LONGEST_NEAREST = 160,
};

/* ---- pieces of text -------------------------------------------------------------------------- */

/* Replaces control characters, including C1 in UTF-8, with "?". */
static void clean(char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char ch = (unsigned char)s[i];
        if (ch < 0x20 || ch == 0x7f)
            s[i] = '?';
        else if (ch == 0xc2 && i + 1 < len && (unsigned char)s[i + 1] < 0xa0)
            s[i] = s[i + 1] = '?';
    }
}

const char *mcp__schema_show(excerpt *to, mcp_str s)
{
    const size_t room = sizeof(to->text) - sizeof("...");
    size_t n = s.len <= room ? s.len : mcp__utf8_cut(s.ptr, room);
    if (n)
        memcpy(to->text, s.ptr, n);
    clean(to->text, n);
    memcpy(to->text + n, n < s.len ? "..." : "\0\0\0", sizeof("..."));
    return to->text;
}

/* Shortens what was appended after `start`. */
static void shorten(mcp__buf *b, size_t start, size_t max)
{
    if (b->failed || b->len - start <= max)
        return;
    b->len = start + mcp__utf8_cut(b->ptr + start, max);
    mcp__buf_lit(b, "...");
}

static void put_value(mcp__buf *b, const mcp_json *value)
{
    size_t start = b->len;
    mcp__json_put_value(b, value);
    shorten(b, start, LONGEST_VALUE);
}

/* Appends one step of a JSON Pointer. */
static void put_step(mcp__buf *b, mcp_str step)
{
    mcp__buf_char(b, '/');
    for (size_t i = 0; i < step.len; i++) {
        if (step.ptr[i] == '~' || step.ptr[i] == '/')
            mcp__buf_str(b, step.ptr[i] == '~' ? MCP_STR("~0") : MCP_STR("~1"));
        else
            mcp__buf_char(b, step.ptr[i]);
    }
}

static void put_path(mcp__buf *b, const frame *at)
{
    if (!at)
        return;
    put_path(b, at->parent); /* recursion bounded by max_depth */
    if (at->index == SIZE_MAX)
        put_step(b, at->key);
    else
        mcp__buf_printf(b, "/%zu", at->index);
}

static void put_schema_steps(mcp__buf *b, const node *n)
{
    if (!n->parent || (n->resource && n == n->resource->root))
        return;
    put_schema_steps(b, n->parent);
    if (n->place == KW_COUNT) {
        mcp__buf_lit(b, "/...");
        return;
    }
    put_step(b, mcp_str_from(mcp__schema_keywords[n->place].name));
    if (n->index != SIZE_MAX)
        mcp__buf_printf(b, "/%zu", n->index);
    else if (mcp__schema_keywords[n->place].shape != SHAPE_SCHEMA &&
             mcp__schema_keywords[n->place].shape != SHAPE_SCHEMA_OR_LIST)
        put_step(b, n->step);
}

void mcp__schema_where(mcp__buf *b, const node *n, keyword word)
{
    if (n->resource)
        mcp__buf_str(b, n->resource->uri);
    mcp__buf_char(b, '#');
    put_schema_steps(b, n);
    if (word != KW_COUNT)
        put_step(b, mcp_str_from(mcp__schema_keywords[word].name));
}

/* ---- delivering ------------------------------------------------------------------------------ */

/* Writes the error text, such as "/a/b: expected … (type)". A long path is shortened at its
 * beginning. */
static void fill_error(validation *st, const mcp_schema_issue *issue)
{
    mcp_str path = issue->path;
    const char *dots = "";
    if (path.len > LONGEST_PATH) {
        size_t from = path.len - LONGEST_PATH;
        const char *slash = memchr(path.ptr + from, '/', LONGEST_PATH);
        from = slash ? (size_t)(slash - path.ptr)
                     : from + mcp__utf8_cut(path.ptr + from, 4) % 4; /* within a very long name */
        while (from < path.len && ((unsigned char)path.ptr[from] & 0xc0) == 0x80)
            from++;
        path = mcp__str_sub(path, from);
        dots = "...";
    }
    if (path.len == 0)
        path = MCP_STR("(root)");
    st->failed = true;
    mcp__fail(st->error, MCP_EINVAL, 0, "%s%.*s: %.*s (%.*s)", dots, (int)path.len, path.ptr,
              (int)issue->expected.len, issue->expected.ptr, (int)issue->keyword.len,
              issue->keyword.ptr);
    if (st->error)
        clean(st->error->text, strlen(st->error->text));
}

static bool deliver(validation *st, const node *n, keyword word, mcp__buf *message)
{
    mcp__buf path, where;
    mcp__buf_init(&path, &st->schema->allocator, 0);
    mcp__buf_init(&where, &st->schema->allocator, 0);
    put_path(&path, st->at);
    mcp__schema_where(&where, n, n->kind == NODE_OBJECT ? word : KW_COUNT);
    if (message->failed || path.failed || where.failed) {
        st->fatal = MCP_ENOMEM;
    } else {
        clean(message->ptr, message->len);
        mcp_schema_issue issue = {.size = sizeof(issue),
                                  .path = mcp__buf_view(&path),
                                  .expected = mcp__buf_view(message),
                                  .schema_at = mcp__buf_view(&where)};
        if (!issue.path.ptr)
            issue.path.ptr = "";
        issue.keyword = mcp_str_from(word == KW_COUNT ? "false" : mcp__schema_keywords[word].name);
        if (!st->failed)
            fill_error(st, &issue);
        if (st->report)
            st->report(&issue, st->user);
    }
    mcp__buf_free(&path);
    mcp__buf_free(&where);
    mcp__buf_free(message);
    return false;
}

/* Begins a report. Returns false if nothing more may be reported. */
static bool begin(validation *st, mcp__buf *message)
{
    if (st->mute || st->fatal || st->wanted == 0)
        return false;
    st->wanted--;
    mcp__buf_init(message, &st->schema->allocator, 0);
    if (st->names)
        mcp__buf_lit(message, "of the property's name: ");
    return true;
}

bool mcp__schema_report(validation *st, const node *n, keyword word, const char *format, ...)
{
    mcp__buf message;
    char text[400];
    va_list args;
    if (!begin(st, &message))
        return false;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mcp__buf_str(&message, mcp_str_from(text));
    return deliver(st, n, word, &message);
}

/* ---- messages for particular keywords -------------------------------------------------------- */

static const char *kind_of(const mcp_json *v)
{
    mcp_json_type type = mcp_json_typeof(v);
    if ((1u << type) & IS_NUMBER)
        return mcp__schema_is_integral(v) ? "integer" : "number";
    return mcp_json_type_name(type);
}

bool mcp__schema_report_type(validation *st, const node *n, unsigned types, const mcp_json *v)
{
    static const struct {
        unsigned bits;
        const char *name;
    } names[] = {
        {IS_STRING, "string"},
        {IS_NUMBER | IS_INTEGRAL, "number"},
        {1 << MCP_JSON_INT | IS_INTEGRAL, "integer"},
        {1 << MCP_JSON_BOOL, "boolean"},
        {IS_OBJECT, "object"},
        {IS_ARRAY, "array"},
        {1 << MCP_JSON_NULL, "null"},
    };
    mcp__buf message;
    const char *before = "expected ";
    if (!begin(st, &message))
        return false;
    for (size_t i = 0; i < MCP__COUNT(names); i++) {
        if ((types & names[i].bits) != names[i].bits)
            continue;
        types &= ~names[i].bits;
        mcp__buf_printf(&message, "%s%s", before, names[i].name);
        before = types ? ", " : "";
        before = types && (types & (types - 1)) == 0 ? " or " : before;
    }
    mcp__buf_printf(&message, ", got %s", kind_of(v));
    return deliver(st, n, KW_TYPE, &message);
}

bool mcp__schema_report_value(validation *st, const node *n, keyword word, const char *before,
                              const mcp_json *value)
{
    mcp__buf message;
    if (!begin(st, &message))
        return false;
    mcp__buf_str(&message, mcp_str_from(before));
    put_value(&message, value);
    return deliver(st, n, word, &message);
}

bool mcp__schema_report_bound(validation *st, const node *n, keyword word, const char *before,
                              const mcp_json *bound, const mcp_json *v)
{
    mcp__buf message;
    if (!begin(st, &message))
        return false;
    mcp__buf_str(&message, mcp_str_from(before));
    put_value(&message, bound);
    mcp__buf_lit(&message, ", got ");
    put_value(&message, v);
    return deliver(st, n, word, &message);
}

bool mcp__schema_report_enum(validation *st, const node *n, const mcp_json *allowed)
{
    mcp__buf message;
    mcp_json_iter iter = {0};
    const mcp_json *one;
    if (!begin(st, &message))
        return false;
    mcp__buf_str(&message,
                 mcp_json_count(allowed) == 1 ? MCP_STR("expected ") : MCP_STR("expected one of "));
    size_t start = message.len;
    while (message.len - start < LONGEST_LIST && !message.failed &&
           (one = mcp_json_next(allowed, &iter, NULL))) {
        if (iter.index > 1)
            mcp__buf_lit(&message, ", ");
        put_value(&message, one);
    }
    if (iter.index < mcp_json_count(allowed))
        mcp__buf_lit(&message, ", ...");
    return deliver(st, n, KW_ENUM, &message);
}

/* Lists the known properties, because the most frequent reason is a misspelled name. */
bool mcp__schema_report_unknown(validation *st, const node *n, const members *m, mcp_str name)
{
    mcp__buf message;
    excerpt shown;
    const char *before = "; known are ";
    if (!begin(st, &message))
        return false;
    mcp__buf_printf(&message, "unknown property \"%s\"", mcp__schema_show(&shown, name));
    const mcp_json *properties = m ? mcp_json_get(n->value, "properties") : NULL;
    mcp_json_iter iter = {0};
    size_t start = message.len;
    while (message.len - start < LONGEST_LIST && !message.failed &&
           mcp_json_next(properties, &iter, &name)) {
        mcp__buf_printf(&message, "%s\"%s\"", before, mcp__schema_show(&shown, name));
        before = ", ";
    }
    if (iter.index < mcp_json_count(properties))
        mcp__buf_lit(&message, ", ...");
    return deliver(st, n, m ? KW_ADDITIONAL_PROPERTIES : KW_UNEVALUATED_PROPERTIES, &message);
}

/* ---- alternatives ---------------------------------------------------------------------------- */

typedef struct nearest {
    size_t base; /* length of the path to the value to which the branches are applied */
    size_t score;
    bool any;
    char text[LONGEST_NEAREST];
} nearest;

/* Returns how close a branch was to matching. A branch that failed deep inside the value is closer
 * than one that failed at its top. A branch that failed at a constant probably describes another
 * kind of object. */
static size_t score_of(const mcp_schema_issue *issue, size_t base)
{
    size_t depth = 0;
    bool type = mcp_str_eq(issue->keyword, MCP_STR("type"));
    for (size_t i = base; i < issue->path.len; i++)
        depth += issue->path.ptr[i] == '/';
    if (mcp_str_eq(issue->keyword, MCP_STR("const")) || mcp_str_eq(issue->keyword, MCP_STR("enum")))
        return 1 + depth;
    return depth == 0 && type ? 0 : 4 * depth + 3 - type;
}

static void keep_nearest(const mcp_schema_issue *issue, void *user)
{
    nearest *best = user;
    excerpt path;
    size_t score = score_of(issue, best->base);
    if (best->any && score <= best->score)
        return;
    best->any = true;
    best->score = score;
    mcp_str below = mcp__str_sub(issue->path, MCP__MIN(best->base, issue->path.len));
    snprintf(best->text, sizeof(best->text), "%s%s%.*s (%.*s)", mcp__schema_show(&path, below),
             below.len ? ": " : "", (int)issue->expected.len, issue->expected.ptr,
             (int)issue->keyword.len, issue->keyword.ptr);
    best->text[mcp__utf8_valid(best->text, strlen(best->text))] = '\0';
}

static size_t path_length(const validation *st)
{
    mcp__buf path;
    mcp__buf_init(&path, &st->schema->allocator, 0);
    put_path(&path, st->at);
    size_t len = path.len;
    mcp__buf_free(&path);
    return len;
}

bool mcp__schema_report_branches(validation *st, const node *n, keyword word, const node_list *list,
                                 const mcp_json *v)
{
    nearest best = {.any = false};
    if (st->mute || st->fatal || st->wanted == 0)
        return false;
    best.base = path_length(st);
    validation outside = *st;
    for (size_t i = 0; i < list->count && !st->fatal; i++) {
        st->report = keep_nearest;
        st->user = &best;
        st->wanted = 1;
        st->failed = true; /* *error is reserved for the report on all branches */
        mcp__schema_apply(st, list->nodes[i], v, NULL, word);
    }
    st->report = outside.report;
    st->user = outside.user;
    st->wanted = outside.wanted;
    st->failed = outside.failed;
    if (st->fatal)
        return false;
    if (list->count == 1)
        return mcp__schema_report(st, n, word, "%s", best.text);
    return mcp__schema_report(st, n, word, "none of the %zu alternatives matches; nearest: %s",
                              list->count, best.text);
}
