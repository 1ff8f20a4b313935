/* json.h: the internal side of mcp/json.h. Only src/json knows the JSON library. */
#ifndef MCP_SRC_JSON_H
#define MCP_SRC_JSON_H

#include <mcp/fields.h>
#include <mcp/json.h>

#include "base/base.h"

/* ---- parse.c --------------------------------------------------------------------------------- */

/* Like mcp_json_parse(), for a text in writable memory that is padded: text.ptr has
 * MCP__JSON_PADDING more writable bytes behind text.len. The values point into that memory, so it
 * must outlive the document. Saves the copy of the text. */
#define MCP__JSON_PADDING 4
int mcp__json_parse_insitu(char *text, size_t len, const mcp_json_limits *limits,
                           const mcp_allocator *allocator, mcp_json_doc **ret, mcp_error *error);

/* No document is deeper, whatever limits say: recursion over values is safe. */
#define MCP__JSON_DEEPEST 1024

/* ---- keys.c ---------------------------------------------------------------------------------- */

/* MCP_EPARSE when an object below root has a key twice; base is where offset 0 of the text
 * stands. */
int mcp__json_check_keys(const mcp_json *root, const char *base, const mcp_allocator *a,
                         mcp_error *error);

/* How long the text was. */
size_t mcp__json_doc_bytes(const mcp_json_doc *doc);
/* About what it holds in memory: the text and its values. */
MCP__SHARED size_t mcp__json_doc_memory(const mcp_json_doc *doc);

/* ---- write.c: JSON text straight into a buffer ----------------------------------------------- */

/* Without state: the caller places commas itself, or list.c does. A string is escaped
 * and quoted; one that is not valid UTF-8 makes the buffer fail with MCP_EINVAL. */
void mcp__json_put_str(mcp__buf *b, mcp_str s);
void mcp__json_put_int(mcp__buf *b, int64_t value);
void mcp__json_put_uint(mcp__buf *b, uint64_t value);
void mcp__json_put_real(mcp__buf *b, double value);
void mcp__json_put_base64(mcp__buf *b, const void *bytes, size_t len); /* with the quotes */
void mcp__json_put_value(mcp__buf *b, const mcp_json *value);          /* compact */

/* An integer from 0 to UINT64_MAX: what mcp_json_int() leaves out. False for everything else. */
bool mcp__json_uint(const mcp_json *value, uint64_t *ret);

/* The key in front of a member's value (as mcp_json_next() returns it), as a JSON string. */
const mcp_json *mcp__json_key_of(const mcp_json *member);

/* The text of a big number, as it came. */
mcp_str mcp__json_bigint_text(const mcp_json *value);

/* Checks that text is one JSON value of the given type (MCP_JSON_NONE: any) and appends it
 * compactly. MCP_OK, MCP_EPARSE, MCP_ELIMIT, MCP_ENOMEM. For JSON that a program gives us as
 * text. */
int mcp__json_put_checked(mcp__buf *b, mcp_str text, mcp_json_type type, mcp_error *error);

/* ---- fields.c: see mcp/fields.h --------------------------------------------------------------------- */

/* The schema of a table; `closed`: other properties are refused, which not every place for schemas can say. */
void mcp__fields_schema(const mcp_field *fields, size_t n, bool closed, mcp_json_writer *w);
/* MCP_OK; MCP_EINVAL: the table is not well-formed, and error names the field. */
int mcp__fields_check(const mcp_field *fields, size_t n, mcp_error *error);

/* ---- list.c: arrays and objects that place their own commas ---------------------------------- */

/* An array or object that is being written. Its values go into `buf` with the calls above, each one
 * behind one of these. */
typedef struct mcp__json_list {
    mcp__buf *buf;
    char last; /* the closing bracket or brace */
    bool any;  /* it has an element or member */
} mcp__json_list;

mcp__json_list mcp__json_begin_array(mcp__buf *b);
mcp__json_list mcp__json_begin_object(mcp__buf *b);
void mcp__json_next(mcp__json_list *l);             /* an element follows, or members as text */
void mcp__json_key(mcp__json_list *l, mcp_str key); /* the value of this member follows */
void mcp__json_name(mcp__json_list *l, const char *name); /* the same; it needs no escaping */
void mcp__json_end(mcp__json_list *l);

#endif
