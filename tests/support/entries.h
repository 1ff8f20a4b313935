/* entries.h: descriptors in which every member has a value of its own, made from the tables of
 * protocol/entry.c, and the text of such an entry in a revision. */
#ifndef MCP_TESTS_ENTRIES_H
#define MCP_TESTS_ENTRIES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/entry.h"

#define ENTRY_KINDS (MCP_ITEM_TOOL + 1)

typedef union entry {
    size_t size;
    mcp_resource resource;
    mcp_resource_template tmpl;
    mcp_prompt prompt;
    mcp_tool tool;
} entry;

static _Alignas(max_align_t) char entry_pool[1 << 14];
static size_t entry_used, entry_serial;

static inline void *entry_alloc(size_t size)
{
    void *at = entry_pool + entry_used;
    entry_used += (size + 15) / 16 * 16;
    assert_true(entry_used <= sizeof(entry_pool));
    return memset(at, 0, size);
}

static inline const char *entry_text(const char *name, const char *format)
{
    char *text = entry_alloc(96);
    if (strcmp(name, "theme") == 0) {
        snprintf(text, 96, "%s", ++entry_serial % 2 ? "dark" : "light");
        return text;
    }
    if (strcmp(name, "uri") == 0)
        format = "entries://all/%zu";
    if (strcmp(name, "uriTemplate") == 0)
        format = "entries://all/%zu/{a}";
    snprintf(text, 96, format, ++entry_serial);
    return text;
}

static inline void entry_fill(const mcp__entry_shape *shape, void *to);

static inline void entry_set_structs(const mcp__entry_member *m, void *at, size_t n)
{
    char *array = entry_alloc(n * m->shape->size);
    for (size_t i = 0; i < n; i++) {
        memcpy(array + i * m->shape->size, &m->shape->size, sizeof(size_t));
        entry_fill(m->shape, array + i * m->shape->size);
    }
    memcpy(at, &array, sizeof(array));
}

static inline void entry_fill(const mcp__entry_shape *shape, void *to)
{
    for (const mcp__entry_member *m = shape->members; m < shape->members + shape->n; m++) {
        void *at = (char *)to + m->offset, *other = (char *)to + m->other;
        switch (m->kind) {
        case MCP__MEMBER_TEXT:
        case MCP__MEMBER_NAME: *(const char **)at = entry_text(m->name, "text%zu"); break;
        case MCP__MEMBER_WORDS: *(const char **)at = entry_text(m->name, "%zux1 any"); break;
        case MCP__MEMBER_JSON:
        case MCP__MEMBER_OUTPUT:
            *(const char **)at = entry_text(m->name, "{\"type\":\"object\",\"title\":\"%zu\"}");
            break;
        case MCP__MEMBER_AUDIENCE: *(unsigned *)at = MCP_AUDIENCE_ASSISTANT; break;
        case MCP__MEMBER_UINT:
            *(bool *)other = true;
            *(uint64_t *)at = UINT64_MAX;
            break;
        case MCP__MEMBER_REAL:
            *(bool *)other = true;
            *(double *)at = 0.75;
            break;
        case MCP__MEMBER_TRUE: *(bool *)at = true; break;
        case MCP__MEMBER_HINT:
            *(mcp_hint *)at = ++entry_serial % 2 ? MCP_HINT_YES : MCP_HINT_NO;
            break;
        case MCP__MEMBER_TASKS: *(mcp_task_support *)at = MCP_TASK_OPTIONAL; break;
        case MCP__MEMBER_STRUCT: entry_set_structs(m, at, 1); break;
        case MCP__MEMBER_STRUCTS:
            *(size_t *)other = 2;
            entry_set_structs(m, at, 2);
            break;
        case MCP__MEMBER_PART: entry_fill(m->shape, to); break;
        }
    }
}

/* The descriptor is valid until the pool is used again. */
static inline void entry_make(mcp_item kind, entry *to)
{
    *to = (entry){.size = mcp__entry_shapes[kind].size};
    entry_fill(&mcp__entry_shapes[kind], to);
}

/* The caller frees the text. */
static inline char *entry_json(mcp_item kind, const entry *e, const mcp__revision *revision)
{
    mcp__buf b;
    mcp__buf_init(&b, &mcp__default_allocator, 0);
    mcp__object o = mcp__object_begin(&b, revision);
    mcp__object_entry(&o, kind, e);
    mcp__object_end(&o);
    mcp__buf_char(&b, 0);
    assert_int_equal(b.failed, MCP_OK);
    char *text = malloc(b.len);
    assert_non_null(text);
    memcpy(text, b.ptr, b.len);
    mcp__buf_free(&b);
    return text;
}

#endif
