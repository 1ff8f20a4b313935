/* json.h: the internal side of mcp/json.h. Only src/json uses the JSON library. */
#ifndef MCP_SRC_JSON_H
#define MCP_SRC_JSON_H

#include <mcp/fields.h>
#include <mcp/json.h>

#include "base/base.h"

/* ---- parse.c --------------------------------------------------------------------------------- */

/* Like mcp_json_parse(), for text in writable memory, with MCP__JSON_PADDING more writable bytes
 * after the first `len`. This avoids copying the text. The values point into that memory, so it
 * must outlive the document. */
#define MCP__JSON_PADDING 4
int mcp__json_parse_insitu(char *text, size_t len, const mcp_json_limits *limits,
                           const mcp_allocator *allocator, mcp_json_doc **ret, mcp_error *error);

/* The maximum depth of all documents, whatever limits the caller sets. It makes recursion over
 * values safe. */
#define MCP__JSON_DEEPEST 1024

/* ---- reading --------------------------------------------------------------------------------- */

/* Like mcp_json_get(). If the key is a literal, its length is known when this is compiled. */
static inline const mcp_json *mcp__json_member(const mcp_json *object, const char *key)
{
    return mcp_json_get_str(object, mcp_str_from(key));
}

/* ---- keys.c ---------------------------------------------------------------------------------- */

/* Returns MCP_EPARSE if an object below root has a duplicate key. base is the address of offset 0
 * of the text. */
int mcp__json_check_keys(const mcp_json *root, const char *base, const mcp_allocator *a,
                         mcp_error *error);

/* Returns the length of the text. */
/* Frees a document after overwriting its strings. */
MCP__SHARED void mcp__json_wipe(mcp_json_doc *doc);
size_t mcp__json_doc_bytes(const mcp_json_doc *doc);
/* Returns approximately the memory of the document: its text and its values. */
MCP__SHARED size_t mcp__json_doc_memory(const mcp_json_doc *doc);
/* Returns the memory that was allocated for a document of mcp_json_parse(), after
 * mcp__json_shrink(). */
size_t mcp__json_doc_allocated(const mcp_json_doc *doc);
/* Releases the memory that a document does not use, which is most of the memory of a small document,
 * because the parser estimates the number of values. For documents that are kept. The document moves,
 * so that no value of it may be borrowed. Returns MCP_OK, or MCP_ENOMEM without a change. */
int mcp__json_shrink(mcp_json_doc **doc);

/* ---- write.c: JSON text straight into a buffer ----------------------------------------------- */

/* These functions have no state: the caller writes the commas itself, or uses containers.c. A
 * string is escaped and quoted; invalid UTF-8 makes the buffer fail with MCP_EINVAL. */
MCP__SHARED void mcp__json_put_str(mcp__buf *b, mcp_str s);
void mcp__json_put_int(mcp__buf *b, int64_t value);
void mcp__json_put_uint(mcp__buf *b, uint64_t value);
void mcp__json_put_real(mcp__buf *b, double value);
void mcp__json_put_base64(mcp__buf *b, const void *bytes, size_t len);    /* including the quotes */
MCP__SHARED void mcp__json_put_value(mcp__buf *b, const mcp_json *value); /* compact */

/* Reads an integer from 0 to UINT64_MAX, a range that mcp_json_int() does not cover. Returns false
 * for all other values. */
bool mcp__json_uint(const mcp_json *value, uint64_t *ret);

/* Returns the key of a member's value (as mcp_json_next() returns it) as a JSON string. */
const mcp_json *mcp__json_key_of(const mcp_json *member);

/* Returns the unchanged text of an MCP_JSON_BIGINT; ptr is NULL for other values. */
mcp_str mcp__json_bigint_text(const mcp_json *value);

/* Checks that text is one JSON value of the given type (MCP_JSON_NONE allows any) and appends it
 * compactly. Use it for JSON that the program passes as text. Returns MCP_OK, MCP_EPARSE,
 * MCP_ELIMIT or MCP_ENOMEM. */
int mcp__json_put_checked(mcp__buf *b, mcp_str text, mcp_json_type type, mcp_error *error);

/* ---- repair.c -------------------------------------------------------------------------------- */

/* Appends the text with U+FFFD in place of bytes that are not UTF-8 and of halves of surrogate pairs.
 * Returns how many there were. */
size_t mcp__json_repair(mcp_str text, mcp__buf *to);

/* ---- text.c: the parts of a JSON text as they are written ------------------------------------ */

/* Returns the offset after the string whose opening quote is directly before text[i]. */
size_t mcp__json_skip_string(const char *text, size_t len, size_t i);
/* Return the text of a member's value, or of an element. The key is compared with the text of
 * `quoted_key`, which includes the quotes. `count` is the number of members, or 0 if it is unknown.
 * ptr is NULL if there is no such member or element. */
mcp_str mcp__json_text_get(mcp_str object, size_t count, mcp_str quoted_key);
mcp_str mcp__json_text_at(mcp_str array, size_t index);
/* Appends the text of a value, with line ends replaced by spaces. */
void mcp__json_put_text(mcp__buf *b, mcp_str json);
/* Writes the comma, if any, before the next value, and returns the buffer for that value. Returns
 * NULL if the writer failed or no value is allowed here. */
mcp__buf *mcp__json_writer_place(mcp_json_writer *w);

/* ---- fields.c: see mcp/fields.h -------------------------------------------------------------- */

/* Writes the schema of a table. If `closed` is set, the schema forbids other properties. Not every
 * kind of schema can express that. */
void mcp__fields_schema(const mcp_field *fields, size_t n, bool closed, mcp_json_writer *w);
/* Returns MCP_OK, or MCP_EINVAL if the table is not well-formed; error then names the field. If
 * `form` is set, the table describes a form, in which an array must have one_of. */
int mcp__fields_check(const mcp_field *fields, size_t n, bool form, mcp_error *error);

/* ---- writer.c -------------------------------------------------------------------------------- */

/* Makes a writer fail with `code`, unless it has failed before. */
void mcp__json_writer_fail(mcp_json_writer *w, int code);

/* ---- containers.c: arrays and objects that place their own commas ---------------------------- */

/* An array or object that is being written. Values are appended to `buf` with the functions above.
 * Before each value one of the functions below must be called. */
typedef struct mcp__json_list {
    mcp__buf *buf;
    char last; /* the closing bracket or brace */
    bool any;  /* whether it has an element or member already */
} mcp__json_list;

mcp__json_list mcp__json_begin_array(mcp__buf *b);
mcp__json_list mcp__json_begin_object(mcp__buf *b);
void mcp__json_next(mcp__json_list *l); /* before an element, or members given as text */
void mcp__json_key(mcp__json_list *l, mcp_str key);       /* before the value of this member */
void mcp__json_name(mcp__json_list *l, const char *name); /* name must not need escaping */
void mcp__json_end(mcp__json_list *l);

#endif
