/* document.c: see document.h. */
#include "document.h"

#include <stdarg.h>
#include <stdio.h>

#include "buffer.h"
#include "parse.h"
#include "text.h"

/* ---- functions shared with the other parsers ------------------------------------------------- */

int prompts_fail(prompts_parser *p, size_t line, const char *format, ...)
{
    va_list args;
    p->fault->line = line;
    va_start(args, format);
    vsnprintf(p->fault->text, sizeof(p->fault->text), format, args);
    va_end(args);
    return MCP_EINVAL;
}

bool prompts_next_line(prompts_parser *p, mcp_str *ret)
{
    size_t left = p->text.len - p->at;
    if (!left)
        return false;
    const char *begin = p->text.ptr + p->at, *end = memchr(begin, '\n', left);
    ret->ptr = begin;
    ret->len = end ? (size_t)(end - begin) : left;
    p->at += ret->len + (end != NULL);
    p->line++;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

mcp_str prompts_trim(mcp_str s)
{
    while (s.len && is_space(*s.ptr))
        s.ptr++, s.len--;
    while (s.len && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

int prompts_shown(mcp_str s)
{
    enum { MOST = 60 };
    size_t len = s.len < MOST ? s.len : MOST;
    while (len && len < s.len && ((unsigned char)s.ptr[len] & 0xc0) == 0x80)
        len--;
    return (int)len;
}

bool prompts_is_argument_name(mcp_str name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    if (!name.len || name.len > PROMPTS_MAX_NAME)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!name.ptr[i] || !strchr(letters, name.ptr[i]))
            return false;
    }
    return true;
}

bool prompts_is_prompt_name(mcp_str name)
{
    if (!name.len || name.len > PROMPTS_MAX_NAME || prompts_trim(name).len != name.len)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if ((unsigned char)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f)
            return false;
    }
    return common_text_check(name);
}

/* ---- documents ------------------------------------------------------------------------------- */

static prompts_document *new_document(const mcp_allocator *given)
{
    prompts_arena arena = {.alloc = common_allocator(given)};
    prompts_document *d = prompts_arena_alloc(&arena, sizeof(*d));
    if (!d)
        return NULL;
    d->arena = arena;
    d->refs = 1;
    return d;
}

prompts_document *prompts_document_ref(prompts_document *d)
{
    d->refs++;
    return d;
}

void prompts_document_unref(prompts_document *d)
{
    if (!d || --d->refs)
        return;
    prompts_arena arena = d->arena; /* the document is allocated in it */
    prompts_arena_free(&arena);
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_arguments(const prompts_document *a, const prompts_document *b)
{
    if (a->n_arguments != b->n_arguments)
        return false;
    for (size_t i = 0; i < a->n_arguments; i++) {
        const prompts_argument *x = &a->arguments[i], *y = &b->arguments[i];
        if (!same(x->name, y->name) || !same(x->title, y->title) ||
            !same(x->description, y->description) || x->required != y->required)
            return false;
    }
    return true;
}

bool prompts_document_same_entry(const prompts_document *a, const prompts_document *b)
{
    if (!same(a->name, b->name) || !same(a->title, b->title) ||
        !same(a->description, b->description) || a->n_icons != b->n_icons)
        return false;
    for (size_t i = 0; i < a->n_icons; i++) {
        if (!same(a->icons[i], b->icons[i]))
            return false;
    }
    return same_arguments(a, b);
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* Copies the text without a byte order mark and with "\n" as line ends. */
static int copy_text(prompts_parser *p, mcp_str bytes)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (bytes.len >= 3 && memcmp(bytes.ptr, mark, 3) == 0)
        bytes.ptr += 3, bytes.len -= 3;
    char *to = prompts_arena_alloc(&p->doc->arena, bytes.len + 1);
    size_t len = 0;
    if (!to)
        return MCP_ENOMEM;
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.ptr[i] != '\r' || i + 1 == bytes.len || bytes.ptr[i + 1] != '\n')
            to[len++] = bytes.ptr[i];
    }
    p->text = (mcp_str){to, len};
    return MCP_OK;
}

static int check_text(prompts_parser *p)
{
    mcp_str line;
    if (common_text_check(p->text))
        return MCP_OK;
    prompts_parser at = *p;
    for (size_t number = at.line; prompts_next_line(&at, &line); number = at.line) {
        if (!common_text_check(line))
            return prompts_fail(p, number, "this is not UTF-8 text");
    }
    return prompts_fail(p, 1, "this is not UTF-8 text");
}

/* Derives the prompt's name from the file name, without .md. */
static int default_name(prompts_parser *p, const char *file)
{
    mcp_str name = {file, strlen(file)};
    name.len -= name.len > 3 ? 3 : 0;
    if (!prompts_is_prompt_name(name))
        return prompts_fail(p, 1,
                            "the file's name cannot be the prompt's: add a front matter with "
                            "name:");
    p->doc->name = prompts_arena_copy(&p->doc->arena, name);
    return p->doc->name ? MCP_OK : MCP_ENOMEM;
}

static int parse(prompts_parser *p, mcp_str bytes, const char *file)
{
    if (bytes.len > PROMPTS_MAX_BYTES)
        return prompts_fail(p, 1, "the file has more than %d bytes", PROMPTS_MAX_BYTES);
    int rc = copy_text(p, bytes);
    if (rc == MCP_OK)
        rc = check_text(p);
    if (rc == MCP_OK)
        rc = prompts_front(p);
    if (rc == MCP_OK && !p->doc->name)
        rc = default_name(p, file);
    return rc == MCP_OK ? prompts_body(p) : rc;
}

int prompts_parse(mcp_str bytes, const char *file, const mcp_allocator *alloc,
                  prompts_document **ret, prompts_fault *fault)
{
    prompts_parser p = {.doc = new_document(alloc), .fault = fault, .line = 1};
    if (!p.doc)
        return MCP_ENOMEM;
    int rc = parse(&p, bytes, file);
    if (rc == MCP_OK)
        *ret = p.doc;
    else
        prompts_document_unref(p.doc);
    return rc;
}
