/* mcp/schema.h: JSON Schema, draft 2020-12 and draft-07, on parsed JSON. Usable alone.
 *
 * A schema is compiled once into a program that never changes, and validates any number of
 * values:
 *
 *     mcp_schema *schema;
 *     mcp_error why;
 *     if (mcp_schema_compile_text(NULL, MCP_STR("{\"type\":\"object\"}"), NULL, &schema, &why) == MCP_OK) {
 *         if (mcp_schema_validate(schema, value, &why) == MCP_EINVAL)
 *             puts(why.text);   // "/address/zip: expected string, got integer (type)"
 *         mcp_schema_free(schema);
 *     }
 *
 * Nothing is ever fetched: a $ref leads into the schema itself, into a document registered in a
 * mcp_schema_set, or to one of the metaschemas of both drafts, which are built in. Everything a
 * hostile schema or value could make grow has a limit.
 *
 * Threads: a mcp_schema may validate in any number of threads at once. A mcp_schema_set may be
 * used by several compilations at once while nobody adds to it.
 *
 * What is done: all keywords of both drafts. 2020-12: all vocabularies, $dynamicRef, $anchor,
 * embedded resources with $id, unevaluatedProperties and unevaluatedItems; `dependencies` too,
 * which it kept from before. draft-07: what stands beside a $ref is ignored, as that draft says.
 * A dialect that is neither of the two is known when its metaschema is in the set and requires
 * no vocabulary that is unknown here; any other $schema is refused. contentEncoding,
 * contentMediaType, contentSchema, readOnly and the like are annotations and assert nothing. A
 * keyword that is unknown is ignored; one that is known and has a value of the wrong shape is
 * refused when the schema is compiled.
 *
 * Numbers are compared by their value, exactly and as they are written: 1 equals 1.0, integers
 * have any size, and 19.99 is a multiple of 0.01.
 *
 * `pattern` and `patternProperties` are run by PCRE2 in UTF-8 mode. Differences from ECMA-262
 * with the flag "u": "." excludes only CR and LF, not U+2028 and U+2029; PCRE2's own syntax
 * (lookbehind of bounded length only, atomic groups, possessive quantifiers, recursion, inline
 * flags) is accepted, but for (*VERBS), callouts and escapes of letters that ECMA-262 does not
 * know; so is a "-" behind \w and the like in a class, for itself; a capture inside of a
 * repeated group keeps the value of an earlier round. As in ECMA-262: \d and \w are ASCII, \s
 * has the Unicode spaces, "$" is the very end, [^] and [] work, \uD83D\uDE00 and \u{1F600} are
 * one character, and \p{Letter}, \p{L}, \p{Script=Greek} work.
 */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include <mcp/base.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- documents by URI ------------------------------------------------------------------------ */

/* What a $ref or a $schema may lead to, beside the built-in metaschemas. */
typedef struct mcp_schema_set mcp_schema_set;

/* MCP_OK, MCP_EINVAL (ret is NULL), MCP_ENOMEM. The allocator may be NULL. */
MCP_API int mcp_schema_set_new(const mcp_allocator *allocator, mcp_schema_set **ret);

/* Registers one JSON document under the absolute URI where it would be found (a fragment is not
 * part of it, but for an empty one). It is found by its own root $id as well, and by the $id of
 * schemas inside of it. The text is copied; what is in it is looked at when a schema that leads
 * to it is compiled. What the schema being compiled says about a URI goes first, then the set,
 * then what is built in.
 *
 * MCP_OK, MCP_EINVAL (uri), MCP_EPARSE and MCP_ELIMIT (the text, as mcp_json_parse()),
 * MCP_EEXIST (the URI is taken), MCP_ENOMEM. error may be NULL. */
MCP_API int mcp_schema_set_add(mcp_schema_set *set, mcp_str uri, mcp_str text, mcp_error *error);

/* Compiled schemas do not need their set. Accepts NULL. */
MCP_API void mcp_schema_set_free(mcp_schema_set *set);

/* ---- compiling ------------------------------------------------------------------------------- */

typedef enum mcp_schema_dialect {
    MCP_SCHEMA_2020_12 = 0,
    MCP_SCHEMA_DRAFT_07 = 1,
} mcp_schema_dialect;

/* Zero in a field is its default. */
typedef struct mcp_schema_options {
    size_t size;
    mcp_schema_dialect dialect; /* of a document without $schema */
    bool assert_formats;        /* `format` is checked and not only an annotation; see below */
    const char *base_uri;       /* where a relative root $id or $ref begins; "" */
    size_t max_depth;           /* schemas applied inside each other, 512; 4096 at most. One costs
                                   up to 1 KiB of the caller's stack */
    size_t max_steps;           /* of one validation, 4,000,000: each schema applied, each member,
                                   each value compared is one; a pattern is charged by its work */
    size_t max_subschemas;      /* in all documents that are used, 20,000 */
    size_t max_bytes;           /* of one document's text, 4 MiB; it may be 128 levels deep */
    size_t max_pattern;         /* bytes of a pattern, 4,096 */
    size_t pattern_limit;       /* internal calls of PCRE2 for one match, 1,000,000 */
    const mcp_allocator *allocator; /* NULL is malloc */
} mcp_schema_options;

/* The formats that are asserted: date-time, date, time, duration, email, idn-email, hostname,
 * idn-hostname, ipv4, ipv6, uri, uri-reference, iri, iri-reference, uri-template, uuid,
 * json-pointer, relative-json-pointer, regex. Of the internationalized ones only the ASCII part
 * and UTF-8 are checked. An unknown format asserts nothing. A metaschema with the vocabulary
 * format-assertion asserts them whatever the option says. */

/* A compiled schema. */
typedef struct mcp_schema mcp_schema;

/* Compiles a schema: an object or a boolean. Nothing of `schema`, `text` and `set` is needed
 * afterwards. set, options and error may be NULL. All subschemas of the document are compiled,
 * whether anything leads there or not; of other documents only what is reached.
 *
 * MCP_OK and the schema, which is yours until mcp_schema_free(); or, with the place in the
 * schema named in error->text: MCP_EPARSE (the text is not JSON), MCP_EINVAL (a keyword has a
 * value of the wrong shape, a pattern is wrong), MCP_ENOTFOUND (a $ref leads nowhere),
 * MCP_EEXIST (one document gives two schemas the same URI), MCP_EUNSUPPORTED (unknown dialect or
 * required vocabulary; a multipleOf of more than 19 digits), MCP_ELIMIT, MCP_ENOMEM. */
MCP_API int mcp_schema_compile(const mcp_schema_set *set, const mcp_json *schema,
                               const mcp_schema_options *options, mcp_schema **ret,
                               mcp_error *error);
MCP_API int mcp_schema_compile_text(const mcp_schema_set *set, mcp_str text,
                                    const mcp_schema_options *options, mcp_schema **ret,
                                    mcp_error *error);

/* Accepts NULL. No validation may be under way. */
MCP_API void mcp_schema_free(mcp_schema *schema);

/* ---- validating ------------------------------------------------------------------------------ */

/* One reason why a value does not conform. Everything is borrowed until the callback returns. */
typedef struct mcp_schema_issue {
    size_t size;       /* set by the library */
    mcp_str path;      /* JSON Pointer to the value (RFC 6901); empty is the whole */
    mcp_str keyword;   /* "type" */
    mcp_str expected;  /* "expected string, got integer": for a person or a model; UTF-8, without
                          control characters, of moderate length */
    mcp_str schema_at; /* where the keyword stands, "https://example.com/s#/properties/zip/type" */
} mcp_schema_issue;

typedef void mcp_schema_issue_fn(const mcp_schema_issue *issue, void *user);

/* MCP_OK when the value conforms. MCP_EINVAL when it does not, and error->text names the first
 * reason: the JSON Pointer of the value ("(root)" for the whole), what was expected, and the
 * keyword in parentheses. MCP_ELIMIT when a budget ran out, MCP_ENOMEM. error may be NULL.
 * Allocates nothing when the value conforms, but for unevaluated* and uniqueItems on more than
 * 64 members, some formats, and the first match of a pattern in a thread that runs beside
 * another. */
MCP_API int mcp_schema_validate(const mcp_schema *schema, const mcp_json *instance,
                                mcp_error *error);

/* The same, and calls fn for up to `max` reasons (0 is 16) instead of stopping at the first.
 * Alternatives of anyOf and oneOf are one reason together, which names the nearest. */
MCP_API int mcp_schema_validate_all(const mcp_schema *schema, const mcp_json *instance, size_t max,
                                    mcp_schema_issue_fn *fn, void *user, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
