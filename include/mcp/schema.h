/* mcp/schema.h: JSON Schema, draft 2020-12 and draft-07, on parsed JSON. Usable by itself.
 *
 * A schema is compiled once into an immutable program, which validates any number of values:
 *
 *     mcp_schema *schema;
 *     mcp_error why;
 *     if (mcp_schema_compile_text(NULL, MCP_STR("{\"type\":\"object\"}"), NULL, &schema, &why) == MCP_OK) {
 *         if (mcp_schema_validate(schema, value, &why) == MCP_EINVAL)
 *             puts(why.text);   // "/address/zip: expected string, got integer (type)"
 *         mcp_schema_free(schema);
 *     }
 *
 * No document is fetched: a $ref refers to the schema itself, to a document registered in an
 * mcp_schema_set, or to one of the metaschemas of both drafts, which are built in. Limits bound the
 * time and memory that a hostile schema or value can cost.
 *
 * Threads: any number of threads may validate with one mcp_schema at the same time. Several
 * compilations may use one mcp_schema_set at the same time, if no thread adds documents to it
 * meanwhile.
 *
 * All keywords of both drafts are supported. For 2020-12 this includes all vocabularies,
 * $dynamicRef, $anchor, embedded resources with $id, unevaluatedProperties and unevaluatedItems,
 * and also `dependencies` of earlier drafts. For draft-07, keywords beside a $ref are ignored, as
 * that draft says. Another dialect is accepted if its metaschema is in the set and requires no
 * vocabulary that this library does not support; any other $schema is rejected. contentEncoding,
 * contentMediaType, contentSchema, readOnly and the like are annotations and assert nothing. An
 * unknown keyword is ignored. A schema in which a known keyword has a malformed value is rejected
 * when it is compiled.
 *
 * Numbers are compared exactly, by their decimal value: 1 equals 1.0, integers may have any size,
 * and 19.99 is a multiple of 0.01.
 *
 * PCRE2 in UTF-8 mode runs the regular expressions of `pattern` and `patternProperties`. As in
 * ECMA-262 with the flag "u", \d and \w are ASCII, \s includes the Unicode spaces, "$" matches only
 * at the very end, [^] and [] work, \uD83D\uDE00 and \u{1F600} are one character, and \p{Letter},
 * \p{L} and \p{Script=Greek} work. They differ from ECMA-262 as follows. "." excludes only CR and
 * LF, not U+2028 and U+2029. PCRE2's own syntax is accepted (atomic groups, possessive quantifiers,
 * recursion, inline flags), except for (*VERBS), callouts and escaped letters that ECMA-262 does
 * not define. A lookbehind must have a bounded length. In a class, a "-" after \w or a similar
 * escape is a literal "-". A capture inside a repeated group keeps the value of an earlier
 * iteration.
 */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include <mcp/base.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- documents by URI ------------------------------------------------------------------------ */

/* Documents that a $ref or a $schema may refer to, in addition to the built-in metaschemas. */
typedef struct mcp_schema_set mcp_schema_set;

/* Makes an empty set. allocator may be NULL. Returns MCP_OK, MCP_EINVAL (ret is NULL) or
 * MCP_ENOMEM. */
MCP_API int mcp_schema_set_new(const mcp_allocator *allocator, mcp_schema_set **ret);

/* Registers one JSON document under its absolute URI, which has no fragment or an empty one.
 * Schemas can also refer to the document by the $id of its root, and to the schemas inside it by
 * their $id. The text is copied, and its contents are read when a schema that refers to it is
 * compiled. A URI is looked up first in the schema that is being compiled, then in the set, then
 * among the built-in documents.
 *
 * Returns MCP_OK, MCP_EINVAL (invalid URI), MCP_EPARSE or MCP_ELIMIT (as from mcp_json_parse() for
 * the text), MCP_EEXIST (the URI is registered already) or MCP_ENOMEM. error may be NULL. */
MCP_API int mcp_schema_set_add(mcp_schema_set *set, mcp_str uri, mcp_str text, mcp_error *error);

/* Frees a set. Compiled schemas do not need it. NULL is allowed. */
MCP_API void mcp_schema_set_free(mcp_schema_set *set);

/* ---- compiling ------------------------------------------------------------------------------- */

typedef enum mcp_schema_dialect {
    MCP_SCHEMA_2020_12 = 0,
    MCP_SCHEMA_DRAFT_07 = 1,
} mcp_schema_dialect;

/* Options for compiling. Zero in a field selects its default. */
typedef struct mcp_schema_options {
    size_t size;
    mcp_schema_dialect dialect; /* dialect of a document without $schema */
    /* whether `format` is validated (see below); if false, it is an annotation */
    bool assert_formats;
    const char *base_uri; /* base of a relative root $id or $ref; default "" */
    /* Maximum depth of nested schema applications, each of which takes up to 1 KiB of the caller's
     * stack. Default 512, at most 4096. */
    size_t max_depth;
    /* Maximum steps of one validation. Each applied schema, each member and each compared value is
     * one step. The steps of a pattern depend on the length of the text and the work of the match.
     * Default 4,000,000. */
    size_t max_steps;
    size_t max_subschemas; /* maximum in all documents that are used; default 20,000 */
    /* maximum length of the text of one document; default 4 MiB. The maximum depth is 128 */
    size_t max_bytes;
    size_t max_pattern;             /* maximum length of a pattern; default 4,096 */
    size_t pattern_limit;           /* internal calls of PCRE2 for one match; default 1,000,000 */
    const mcp_allocator *allocator; /* NULL selects malloc() */
} mcp_schema_options;

/* The formats that are asserted: date-time, date, time, duration, email, idn-email, hostname,
 * idn-hostname, ipv4, ipv6, uri, uri-reference, iri, iri-reference, uri-template, uuid,
 * json-pointer, relative-json-pointer, regex. In the internationalized formats, only the ASCII
 * characters and the validity of UTF-8 are checked. An unknown format asserts nothing. If the
 * metaschema has the vocabulary format-assertion, formats are asserted even if assert_formats is
 * false. */

/* A compiled schema. */
typedef struct mcp_schema mcp_schema;

/* Compiles a schema, which is an object or a boolean. `schema`, `text` and `set` are not needed
 * afterwards. set, options and error may be NULL. All subschemas of the document are compiled. Of
 * other documents, only the subschemas that are referred to are compiled.
 *
 * Free the schema with mcp_schema_free(). Returns MCP_OK, MCP_EPARSE (the text is not JSON),
 * MCP_EINVAL (a keyword has a malformed value, a pattern is invalid), MCP_ENOTFOUND (the target of
 * a $ref does not exist), MCP_EEXIST (one document gives two schemas the same URI),
 * MCP_EUNSUPPORTED (unknown dialect or required vocabulary, or a multipleOf of more than 19
 * digits), MCP_ELIMIT or MCP_ENOMEM. After a failure error->text names the location in the
 * schema. */
MCP_API int mcp_schema_compile(const mcp_schema_set *set, const mcp_json *schema,
                               const mcp_schema_options *options, mcp_schema **ret,
                               mcp_error *error);
MCP_API int mcp_schema_compile_text(const mcp_schema_set *set, mcp_str text,
                                    const mcp_schema_options *options, mcp_schema **ret,
                                    mcp_error *error);

/* Frees a schema. No validation with it may be running. NULL is allowed. */
MCP_API void mcp_schema_free(mcp_schema *schema);

/* ---- validating ------------------------------------------------------------------------------ */

/* One reason why a value does not conform. Everything is borrowed until the callback returns. */
typedef struct mcp_schema_issue {
    size_t size;     /* set by the library */
    mcp_str path;    /* JSON Pointer to the value (RFC 6901); empty for the whole value */
    mcp_str keyword; /* name of the keyword, for example "type" */
    /* The reason, for people and models, such as "expected string, got integer". A UTF-8 string of
     * moderate length, without control characters. */
    mcp_str expected;
    /* location of the keyword, as in "https://example.com/s#/properties/zip/type" */
    mcp_str schema_at;
} mcp_schema_issue;

typedef void mcp_schema_issue_fn(const mcp_schema_issue *issue, void *user);

/* Validates a value. Returns MCP_OK if it conforms. Returns MCP_EINVAL if it does not; error->text
 * then has the first reason: the JSON Pointer of the value ("(root)" for the whole value), the
 * expectation, and the keyword in parentheses. Also returns MCP_ELIMIT (a limit was reached) and
 * MCP_ENOMEM. error may be NULL.
 *
 * Validating a value that conforms allocates no memory, with these exceptions: unevaluated* and
 * uniqueItems on more than 64 members, some formats, and the first match of a pattern in a thread
 * that runs concurrently with another one. */
MCP_API int mcp_schema_validate(const mcp_schema *schema, const mcp_json *instance,
                                mcp_error *error);

/* Like mcp_schema_validate(), but calls fn for up to `max` reasons (0 selects 16) instead of
 * stopping at the first. All alternatives of an anyOf or oneOf together give one reason, which
 * describes the closest alternative. */
MCP_API int mcp_schema_validate_all(const mcp_schema *schema, const mcp_json *instance, size_t max,
                                    mcp_schema_issue_fn *fn, void *user, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
