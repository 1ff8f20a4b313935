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
 * Nothing is ever fetched: a $ref refers to the schema itself, to a document registered in a
 * mcp_schema_set, or to one of the metaschemas of both drafts, which are built in. Limits bound
 * everything that a hostile schema or value could make grow.
 *
 * Threads: any number of threads may validate with a mcp_schema at the same time. Several
 * compilations may use a mcp_schema_set at the same time while no thread adds to it.
 *
 * Supported are all keywords of both drafts. 2020-12: all vocabularies, $dynamicRef, $anchor,
 * embedded resources with $id, unevaluatedProperties and unevaluatedItems, and also `dependencies`
 * of earlier drafts. draft-07: keywords beside a $ref are ignored, as that draft says. Another
 * dialect is accepted if its metaschema is in the set and requires no vocabulary that is unknown
 * here; any other $schema is refused. contentEncoding, contentMediaType, contentSchema, readOnly
 * and the like are annotations and assert nothing. An unknown keyword is ignored. A known keyword
 * with a malformed value is refused when the schema is compiled.
 *
 * Numbers are compared exactly, by their decimal value: 1 equals 1.0, integers may have any size,
 * and 19.99 is a multiple of 0.01.
 *
 * `pattern` and `patternProperties` are run by PCRE2 in UTF-8 mode. Differences from ECMA-262 with
 * the flag "u": "." excludes only CR and LF, not U+2028 and U+2029; PCRE2's own syntax (lookbehind
 * of bounded length only, atomic groups, possessive quantifiers, recursion, inline flags) is
 * accepted, but for (*VERBS), callouts and escapes of letters that ECMA-262 does not know; so is a
 * "-" behind \w and the like in a class, for itself; a capture inside of a repeated group keeps the
 * value of an earlier round. As in ECMA-262: \d and \w are ASCII, \s has the Unicode spaces, "$" is
 * the very end, [^] and [] work, \uD83D\uDE00 and \u{1F600} are one character, and \p{Letter},
 * \p{L}, \p{Script=Greek} work.
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

/* MCP_OK, MCP_EINVAL (ret is NULL), MCP_ENOMEM. The allocator may be NULL. */
MCP_API int mcp_schema_set_new(const mcp_allocator *allocator, mcp_schema_set **ret);

/* Registers one JSON document under its absolute URI (without a fragment, except for an empty one).
 * It can also be referred to by its own root $id and by the $id of schemas inside it. The text is
 * copied, and its contents are read when a schema that refers to it is compiled. A URI is looked up
 * first in the schema that is being compiled, then in the set, then among the built-in documents.
 *
 * MCP_OK, MCP_EINVAL (uri), MCP_EPARSE and MCP_ELIMIT (the text, as mcp_json_parse()), MCP_EEXIST
 * (the URI is taken), MCP_ENOMEM. error may be NULL. */
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
    size_t max_depth;           /* nested schema applications, 512; 4096 at most. Each takes up to
                                   1 KiB of the caller's stack */
    size_t max_steps;           /* of one validation, 4,000,000: each applied schema, member and
                                   compared value is one; a pattern counts by its work */
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

/* Compiles a schema: an object or a boolean. `schema`, `text` and `set` are not needed afterwards.
 * set, options and error may be NULL. All subschemas of the document are compiled, whether they are
 * referred to or not; of other documents only those that are.
 *
 * MCP_OK and the schema, to be freed with mcp_schema_free(); or one of these codes, and error->text
 * names the place in the schema: MCP_EPARSE (the text is not JSON), MCP_EINVAL (a keyword has a
 * malformed value, a pattern is invalid), MCP_ENOTFOUND (the target of a $ref does not exist),
 * MCP_EEXIST (one document gives two schemas the same URI), MCP_EUNSUPPORTED (unknown dialect or
 * required vocabulary; a multipleOf of more than 19 digits), MCP_ELIMIT, MCP_ENOMEM. */
MCP_API int mcp_schema_compile(const mcp_schema_set *set, const mcp_json *schema,
                               const mcp_schema_options *options, mcp_schema **ret,
                               mcp_error *error);
MCP_API int mcp_schema_compile_text(const mcp_schema_set *set, mcp_str text,
                                    const mcp_schema_options *options, mcp_schema **ret,
                                    mcp_error *error);

/* Frees a schema. No validation may be running. Accepts NULL. */
MCP_API void mcp_schema_free(mcp_schema *schema);

/* ---- validating ------------------------------------------------------------------------------ */

/* One reason why a value does not conform. Everything is borrowed until the callback returns. */
typedef struct mcp_schema_issue {
    size_t size;       /* set by the library */
    mcp_str path;      /* JSON Pointer to the value (RFC 6901); empty is the whole */
    mcp_str keyword;   /* "type" */
    mcp_str expected;  /* "expected string, got integer": for a person or a model; UTF-8, without
                          control characters, of moderate length */
    mcp_str schema_at; /* location of the keyword, "https://example.com/s#/properties/zip/type" */
} mcp_schema_issue;

typedef void mcp_schema_issue_fn(const mcp_schema_issue *issue, void *user);

/* Validates a value. MCP_OK: it conforms. MCP_EINVAL: it does not, and error->text names the first
 * reason: the JSON Pointer of the value ("(root)" for the whole value), what was expected, and the
 * keyword in parentheses. MCP_ELIMIT: a limit was reached. MCP_ENOMEM. error may be NULL. For a
 * value that conforms nothing is allocated, except for unevaluated* and uniqueItems on more than 64
 * members, some formats, and the first match of a pattern in a thread that runs concurrently with
 * another. */
MCP_API int mcp_schema_validate(const mcp_schema *schema, const mcp_json *instance,
                                mcp_error *error);

/* The same, but calls fn for up to `max` reasons (0 is 16) instead of stopping at the first. All
 * alternatives of an anyOf or oneOf are one reason, which describes the closest alternative. */
MCP_API int mcp_schema_validate_all(const mcp_schema *schema, const mcp_json *instance, size_t max,
                                    mcp_schema_issue_fn *fn, void *user, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
