/* body.c: the text of a prompt: messages, arguments, resources.
 *
 * The text is parsed once, when the file is read. Values are inserted later without parsing, so
 * nothing in a value can become a marker or a resource. Lines are parsed first (a marker or a
 * resource is alone on its line), then the double braces in the other lines.
 */
#include "parse.h"

typedef struct body {
    prompts_parser *p;
    mcp_role role;
    bool begins;   /* the next piece begins a message */
    size_t from;   /* offset of the lines that were read but not yet parsed into pieces */
    size_t number; /* number of the first of these lines */
} body;

static mcp_str sub(mcp_str s, size_t from)
{
    return (mcp_str){s.ptr + from, s.len - from};
}

static bool begins_with(mcp_str s, mcp_str prefix)
{
    return s.len >= prefix.len && memcmp(s.ptr, prefix.ptr, prefix.len) == 0;
}

static int add_piece(body *b, prompts_piece piece)
{
    prompts_document *d = b->p->doc;
    void *items = d->pieces;
    if (!prompts_arena_grow(&d->arena, &items, d->n_pieces, sizeof(piece)))
        return MCP_ENOMEM;
    d->pieces = items;
    piece.role = b->role;
    piece.begins = b->begins;
    b->begins = false;
    d->pieces[d->n_pieces++] = piece;
    return MCP_OK;
}

static int add_text(body *b, mcp_str text)
{
    if (!text.len)
        return MCP_OK;
    return add_piece(b, (prompts_piece){.kind = PROMPTS_TEXT, .text = text});
}

/* ---- markers --------------------------------------------------------------------------------- */

/* Returns whether the line is <!-- user --> or <!-- assistant -->. */
static bool is_marker(mcp_str line, mcp_role *role)
{
    mcp_str s = prompts_trim(line), open = MCP_STR("<!--"), close = MCP_STR("-->");
    if (s.len < open.len + close.len || !begins_with(s, open) ||
        !mcp_str_eq(sub(s, s.len - close.len), close))
        return false;
    s = prompts_trim((mcp_str){s.ptr + open.len, s.len - open.len - close.len});
    if (mcp_str_eq(s, MCP_STR("user")))
        *role = MCP_ROLE_USER;
    else if (mcp_str_eq(s, MCP_STR("assistant")))
        *role = MCP_ROLE_ASSISTANT;
    else
        return false;
    return true;
}

/* Returns whether the line is a marker with a backslash before it, which makes it text. */
static bool is_escaped_marker(mcp_str line)
{
    mcp_role role;
    mcp_str s = prompts_trim(line);
    return s.len && *s.ptr == '\\' && is_marker(sub(s, 1), &role);
}

/* Returns whether the line is {{resource: URI}}. */
static bool is_resource(mcp_str line, mcp_str *uri)
{
    static const mcp_str word = {"resource:", 9};
    mcp_str s = prompts_trim(line);
    if (s.len < 4 || !begins_with(s, MCP_STR("{{")) ||
        !mcp_str_eq(sub(s, s.len - 2), MCP_STR("}}")))
        return false;
    s = prompts_trim((mcp_str){s.ptr + 2, s.len - 4});
    if (!begins_with(s, word))
        return false;
    *uri = prompts_trim(sub(s, word.len));
    return true;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Finds the argument and the end of the expression in text that begins with "{{". */
static int find_argument(body *b, mcp_str s, size_t number, size_t *argument, size_t *end)
{
    const prompts_document *d = b->p->doc;
    size_t i = 2;
    while (i + 1 < s.len && s.ptr[i] != '\n' && !(s.ptr[i] == '}' && s.ptr[i + 1] == '}'))
        i++;
    if (i + 1 >= s.len || s.ptr[i] == '\n')
        return prompts_fail(b->p, number,
                            "{{ without }} on the same line; for literal braces write \\{{");
    mcp_str name = prompts_trim((mcp_str){s.ptr + 2, i - 2});
    *end = i + 2;
    for (*argument = 0; *argument < d->n_arguments; ++*argument) {
        if (mcp_str_eq(name, mcp_str_from(d->arguments[*argument].name)))
            return MCP_OK;
    }
    if (begins_with(name, MCP_STR("resource:")))
        return prompts_fail(b->p, number, "a resource must be on a line of its own");
    return prompts_fail(
        b->p, number, "{{%.*s}}: there is no argument of that name; for literal braces write \\{{",
        prompts_shown(name), name.ptr);
}

/* Returns the number of backslashes directly before `at`. */
static size_t backslashes(mcp_str s, size_t from, size_t at)
{
    size_t n = 0;
    while (at - n > from && s.ptr[at - n - 1] == '\\')
        n++;
    return n;
}

static mcp_str line_at(mcp_str s, size_t at)
{
    const char *end = memchr(s.ptr + at, '\n', s.len - at);
    return (mcp_str){s.ptr + at, end ? (size_t)(end - s.ptr) - at : s.len - at};
}

/* State of parsing lines of text. */
typedef struct lines {
    mcp_str s;
    size_t at, from; /* text from `from` to `at` is not a piece yet */
    size_t number;
} lines;

static int end_piece(body *b, const lines *l, size_t end)
{
    return add_text(b, (mcp_str){l->s.ptr + l->from, end - l->from});
}

/* Removes the backslash and keeps the rest of the line as text. */
static int take_escaped_marker(body *b, lines *l)
{
    while (l->s.ptr[l->at] != '\\')
        l->at++;
    int rc = end_piece(b, l, l->at);
    l->from = ++l->at;
    return rc;
}

/* Handles "{{": an argument, or text if an odd number of backslashes precedes it. */
static int take_braces(body *b, lines *l)
{
    size_t argument = 0, len = 0, n = backslashes(l->s, l->from, l->at);
    int rc = end_piece(b, l, l->at - (n + 1) / 2);
    l->from = l->at;
    l->at += 2;
    if (rc != MCP_OK || n % 2)
        return rc;
    rc = find_argument(b, sub(l->s, l->from), l->number, &argument, &len);
    l->from += len;
    l->at = l->from;
    return rc == MCP_OK ? add_piece(b, (prompts_piece){.kind = PROMPTS_VALUE, .argument = argument})
                        : rc;
}

static bool begins_line(const lines *l)
{
    return l->at == 0 || l->s.ptr[l->at - 1] == '\n';
}

/* Parses lines of text into pieces. */
static int take_apart(body *b, mcp_str s, size_t number)
{
    lines l = {.s = s, .number = number};
    int rc = MCP_OK;
    while (rc == MCP_OK && l.at < s.len) {
        if (begins_line(&l) && is_escaped_marker(line_at(s, l.at)))
            rc = take_escaped_marker(b, &l);
        else if (begins_with(sub(s, l.at), MCP_STR("{{")))
            rc = take_braces(b, &l);
        else
            l.number += s.ptr[l.at++] == '\n';
    }
    return rc == MCP_OK ? end_piece(b, &l, s.len) : rc;
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool is_blank(mcp_str line)
{
    return prompts_trim(line).len == 0;
}

/* Parses the lines up to `to` into pieces, without leading and trailing blank lines. */
static int end_text(body *b, size_t to)
{
    mcp_str s = {b->p->text.ptr + b->from, to - b->from};
    size_t number = b->number;
    for (mcp_str l; s.len && is_blank(l = line_at(s, 0));) {
        size_t skip = l.len < s.len ? l.len + 1 : l.len;
        s = sub(s, skip);
        number++;
    }
    while (s.len && strchr(" \t\n", s.ptr[s.len - 1]))
        s.len--;
    return take_apart(b, s, number);
}

static int add_resource(body *b, mcp_str text, size_t number)
{
    prompts_document *d = b->p->doc;
    mcp_uri uri;
    mcp_error why = {0};
    int rc = mcp_uri_parse(text, &uri, &why);
    if (rc == MCP_ENOMEM)
        return rc;
    if (rc != MCP_OK)
        return prompts_fail(b->p, number, "\"%.*s\" is not a URI: %.100s", prompts_shown(text),
                            text.ptr, why.text);
    if (d->n_resources == PROMPTS_MAX_RESOURCES)
        return prompts_fail(b->p, number, "there are more than %d resources",
                            PROMPTS_MAX_RESOURCES);
    const char *copy = prompts_arena_copy(&d->arena, text);
    if (!copy)
        return MCP_ENOMEM;
    d->n_resources++;
    b->begins = true;
    rc = add_piece(b, (prompts_piece){.kind = PROMPTS_RESOURCE, .text = {copy, text.len}});
    b->begins = true;
    return rc;
}

/* Handles a marker or a resource, which ends the text before it. Other lines are text. */
static int read_line(body *b, size_t at, mcp_str line, size_t number)
{
    mcp_role role;
    mcp_str uri;
    bool marker = is_marker(line, &role);
    if (!marker && !is_resource(line, &uri))
        return MCP_OK;
    int rc = end_text(b, at);
    if (rc == MCP_OK && !marker)
        rc = add_resource(b, uri, number);
    if (marker)
        b->role = role;
    b->begins = true;
    b->from = b->p->at;
    b->number = b->p->line;
    return rc;
}

int prompts_body(prompts_parser *p)
{
    body b = {.p = p, .begins = true, .from = p->at, .number = p->line};
    mcp_str line;
    int rc = MCP_OK;
    for (size_t at = p->at, number = p->line; rc == MCP_OK && prompts_next_line(p, &line);
         at = p->at, number = p->line)
        rc = read_line(&b, at, line, number);
    if (rc == MCP_OK)
        rc = end_text(&b, p->text.len);
    if (rc == MCP_OK && !p->doc->n_pieces)
        return prompts_fail(p, p->line, "the prompt has no text");
    return rc;
}
