/* json.h: the internal side of mcp/json.h. Only src/json uses the JSON library. */
#ifndef MCP_SRC_JSON_H
#define MCP_SRC_JSON_H

#include <mcp/fields.h>
#include <mcp/json.h>

#include "base/base.h"

/* ---- parse.c --------------------------------------------------------------------------------- */

/* Like mcp_json_parse(), for a text in writable memory with MCP__JSON_PADDING more writable bytes
 * behind text.len. This saves copying the text. The values point into that memory, so it must
 * outlive the document. */
#define MCP__JSON_PADDING 4
int mcp__json_parse_insitu(char *text, size_t len, const mcp_json_limits *limits,
                           const mcp_allocator *allocator, mcp_json_doc **ret, mcp_error *error);

/* No document is deeper, whatever the limits are. Recursion over values is therefore safe. */
#define MCP__JSON_DEEPEST 1024

/* ---- keys.c ---------------------------------------------------------------------------------- */

/* Returns MCP_EPARSE if an object below root has a duplicate key. base is the address of offset 0
 * of the text. */
int mcp__json_check_keys(const mcp_json *root, const char *base, const mcp_allocator *a,
                         mcp_error *error);

/* Returns the length of the text. */
size_t mcp__json_doc_bytes(const mcp_json_doc *doc);
/* Returns roughly how much memory it holds: the text and its values. */
MCP__SHARED size_t mcp__json_doc_memory(const mcp_json_doc *doc);

/* ---- write.c: JSON text straight into a buffer ----------------------------------------------- */

/* Stateless: the caller places commas itself, or uses list.c. A string is escaped and quoted;
 * invalid UTF-8 makes the buffer fail with MCP_EINVAL. */
void mcp__json_put_str(mcp__buf *b, mcp_str s);
void mcp__json_put_int(mcp__buf *b, int64_t value);
void mcp__json_put_uint(mcp__buf *b, uint64_t value);
void mcp__json_put_real(mcp__buf *b, double value);
void mcp__json_put_base64(mcp__buf *b, const void *bytes, size_t len); /* with the quotes */
void mcp__json_put_value(mcp__buf *b, const mcp_json *value);          /* compact */

/* Reads an integer from 0 to UINT64_MAX, a range that mcp_json_int() does not cover. Returns false
 * for all other values. */
bool mcp__json_uint(const mcp_json *value, uint64_t *ret);

/* Returns the key of a member's value (as mcp_json_next() returns it) as a JSON string. */
const mcp_json *mcp__json_key_of(const mcp_json *member);

/* Returns the text of a big number, unchanged. */
mcp_str mcp__json_bigint_text(const mcp_json *value);

/* Checks that text is one JSON value of the given type (MCP_JSON_NONE: any) and appends it
 * compactly. Returns MCP_OK, MCP_EPARSE, MCP_ELIMIT or MCP_ENOMEM. For JSON that the program passes
 * as text. */
int mcp__json_put_checked(mcp__buf *b, mcp_str text, mcp_json_type type, mcp_error *error);

/* ---- text.c: the parts of a JSON text as they came ------------------------------------------- */

/* The first byte behind the string whose opening quote is in front of text[i]. */
size_t mcp__json_skip_string(const char *text, size_t len, size_t i);
/* The text of a member, by its key with quotes and without escapes; of an element. ptr NULL: there
 * is none. */
mcp_str mcp__json_text_get(mcp_str object, mcp_str quoted_key);
mcp_str mcp__json_text_at(mcp_str array, size_t index);
/* Appends the text of a value, on one line. */
void mcp__json_put_text(mcp__buf *b, mcp_str json);
/* The buffer, behind what separates the next value; NULL: the writer failed. */
mcp__buf *mcp__json_writer_place(mcp_json_writer *w);

/* ---- fields.c: see mcp/fields.h --------------------------------------------------------------------- */

/* Writes the schema of a table. `closed`: other properties are refused, which not every kind of
 * schema can express. */
void mcp__fields_schema(const mcp_field *fields, size_t n, bool closed, mcp_json_writer *w);
/* Returns MCP_OK, or MCP_EINVAL if the table is not well-formed; error then names the field. `form`:
 * the table describes a form, which cannot have free arrays. */
int mcp__fields_check(const mcp_field *fields, size_t n, bool form, mcp_error *error);

/* ---- writer.c --------------------------------------------------------------------------------------- */

/* Makes a writer fail with `code`, unless it has failed before. */
void mcp__json_writer_fail(mcp_json_writer *w, int code);

/* ---- list.c: arrays and objects that place their own commas ---------------------------------- */

/* An array or object that is being written. Values go into `buf` with the calls above, each one
 * preceded by one of the calls below. */
typedef struct mcp__json_list {
    mcp__buf *buf;
    char last; /* the closing bracket or brace */
    bool any;  /* it has an element or member already */
} mcp__json_list;

mcp__json_list mcp__json_begin_array(mcp__buf *b);
mcp__json_list mcp__json_begin_object(mcp__buf *b);
void mcp__json_next(mcp__json_list *l); /* before an element, or members given as text */
void mcp__json_key(mcp__json_list *l, mcp_str key);       /* before the value of this member */
void mcp__json_name(mcp__json_list *l, const char *name); /* name needs no escaping */
void mcp__json_end(mcp__json_list *l);

#endif
