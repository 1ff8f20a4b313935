/* schema.h: shared by the files of this layer: the compiled program, and the state of its
 * compilation.
 *
 *   resolve.c    resolution of references (RFC 3986 section 5)
 *   set.c        documents by URI; metaschemas.c has the built-in ones
 *   keywords.c   the table of keywords, dialects and vocabularies
 *   scan.c       finds every subschema of a document: nodes, resources, anchors
 *   reference.c  the targets of references
 *   compile.c    compiles the nodes; emit.c has one function per keyword
 *   number.c     exact arithmetic on JSON numbers; equal.c equality and hash of values
 *   pattern.c    ECMA-262 patterns on PCRE2
 *   format.c     formats; format_net.c those of hosts and URIs
 *   validate.c   runs the program; objects.c and array.c the keywords of containers
 *   evaluated.c  which members unevaluated* applies to
 *   report.c     error texts
 *
 * program.h declares the compiled form of a schema.
 */
#ifndef MCP_SRC_SCHEMA_H
#define MCP_SRC_SCHEMA_H

#include <stdatomic.h>

#include <mcp/uri.h>

#include "schema/program.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

typedef enum node_kind {
    NODE_TRUE,
    NODE_FALSE,
    NODE_OBJECT,
} node_kind;

/* One subschema. */
struct node {
    /* in the schema's copy of the document; also the key of the node in a map */
    const mcp_json *value;
    resource *resource;
    const node *parent; /* the schema around it, NULL at the root of a document */
    /* the keyword of the parent that contains it; KW_COUNT if reached by a JSON Pointer */
    keyword place;
    mcp_str step; /* the name within that keyword, decoded, or empty */
    size_t index; /* the index within that keyword, or SIZE_MAX */
    node_kind kind;
    bool queued;
    uint16_t tracks; /* the types of instances for which it records evaluated members or elements */
    instruction *code;
    size_t count;
    node *next; /* in the queue of nodes to compile */
};

/* A copy of a document, owned by the schema. */
typedef struct document {
    mcp_json_doc *json;
    struct document *next;
} document;

struct mcp_schema {
    mcp_allocator allocator;
    mcp__arena arena;
    mcp_schema_options limits; /* with all defaults filled in */
    document *documents;
    pattern *patterns;
    size_t pattern_bytes; /* of all compiled patterns */
    const node *root;
    struct pcre_support *pcre;
    _Atomic(void *) spare; /* match data of PCRE2 for the next match */
};

/* ---- resolve.c ------------------------------------------------------------------------------- */

/* Splits a URI into the text before "#" and after it. Returns false if there is no "#". */
bool mcp__schema_split(mcp_str uri, mcp_str *without, mcp_str *fragment);
/* The maximum length of a URI without its fragment. It is limited because every subschema may have
 * a URI of its own. */
enum { SCHEMA_MAX_URI = 2048 };
/* Resolves a reference against its base (RFC 3986 section 5.2), without its fragment. The result is
 * in the arena. The base may be relative. Returns MCP_ELIMIT or MCP_ENOMEM on failure. */
int mcp__schema_resolve(mcp__arena *arena, mcp_str base, mcp_str reference, mcp_str *ret);

/* ---- set.c and metaschemas.c ----------------------------------------------------------------- */

typedef struct set_entry {
    mcp_str uri;
    mcp_str id; /* the resolved $id of its root; the same as uri if it has none */
    mcp_str text;
} set_entry;

struct mcp_schema_set {
    mcp_allocator allocator;
    mcp__arena arena;
    set_entry **entries;
    size_t count, cap;
    mcp__map by_uri;
};

/* Returns the text of the built-in metaschema with that URI, or an empty text. */
mcp_str mcp__schema_builtin(mcp_str uri);

/* ---- compiling: scan.c, reference.c, compile.c, emit.c --------------------------------------- */

enum { MAX_INSTRUCTIONS = 40 };

typedef struct compiler {
    mcp_schema *schema;
    const mcp_schema_set *set;
    mcp_error *error;
    size_t subschemas;
    mcp__map nodes;           /* maps the address of a JSON value to its node */
    mcp__map resources;       /* maps a URI to its resource */
    mcp__map anchors;         /* maps a resource and a name to the node */
    node *queue, **queue_end; /* nodes to compile, in order */
    bool all_loaded;          /* all documents of the set have been loaded */
    bool root_done;           /* the document being scanned is not the one that the caller passed */
    /* state of the node being compiled */
    node *node;
    const mcp_json *values[KW_COUNT];
    instruction code[MAX_INSTRUCTIONS];
    size_t count;
} compiler;

/* Sets the error, whose message begins with the location in the schema, and returns `code`. `word`
 * is the keyword at that location, or KW_COUNT. */
int mcp__schema_refuse(compiler *c, int code, const node *at, keyword word, const char *format, ...)
    MCP_PRINTF(5, 6);
int mcp__schema_no_memory(compiler *c);

/* Parses and scans a document. `uri` is the URI under which it was found. */
int mcp__schema_load(compiler *c, mcp_str text, mcp_str uri, node **ret);
/* Scans a subschema at a location where the scan found none, because a JSON Pointer refers to
 * it. */
int mcp__schema_scan_value(compiler *c, const mcp_json *value, const node *parent, node **ret);
node *mcp__schema_node_of(const compiler *c, const mcp_json *value);

/* Finds the target of a reference. *anchor gets the fragment if it is a plain name, else "". */
int mcp__schema_find(compiler *c, const node *from, keyword word, mcp_str reference, node **ret,
                     mcp_str *anchor);
/* Resolves a reference against the base of a node, without its fragment. */
int mcp__schema_resolve_at(compiler *c, const node *at, keyword word, mcp_str reference,
                           mcp_str *ret);
/* Makes the key of an anchor for c->anchors. Returns MCP_OK or MCP_ENOMEM. */
int mcp__schema_anchor_key(compiler *c, const resource *r, mcp_str name, mcp_str *ret);
/* Finds the dialect that a $schema names. */
int mcp__schema_find_dialect(compiler *c, const node *at, mcp_str uri, unsigned *ret);

/* Queues a node and the dynamic anchors of its resource. */
void mcp__schema_queue(compiler *c, node *n);
int mcp__schema_emit(compiler *c); /* compiles all keywords of c->node */

/* ---- number.c -------------------------------------------------------------------------------- */

/* Returns a negative number, 0 or a positive number if a is less than, equal to or greater than
 * b. */
int mcp__schema_compare(const mcp_json *a, const mcp_json *b);
bool mcp__schema_is_integral(const mcp_json *number);
/* Returns MCP_OK, MCP_EINVAL (not above 0) or MCP_EUNSUPPORTED (too many digits). */
int mcp__schema_divisor(const mcp_json *number, divisor *ret);
bool mcp__schema_is_multiple(const mcp_json *number, const divisor *d);
/* Reads a non-negative integer, which may be written as 2.0. *ret is SIZE_MAX if the integer is
 * larger than that. Returns false for other numbers. */
bool mcp__schema_as_size(const mcp_json *number, size_t *ret);

/* ---- equal.c --------------------------------------------------------------------------------- */

/* Both functions subtract the steps of their work from *steps. When *steps is 0, they return false
 * or an arbitrary hash. */
bool mcp__schema_equal(const mcp_json *a, const mcp_json *b, size_t *steps);
/* Equal values have equal hashes. */
uint64_t mcp__schema_hash(const mcp_json *value, size_t *steps);

/* ---- pattern.c ------------------------------------------------------------------------------- */

/* Compiles a pattern and adds it to schema->patterns. Returns MCP_OK, MCP_EINVAL (the reason is in
 * *why), MCP_ELIMIT or MCP_ENOMEM. */
int mcp__schema_pattern_new(mcp_schema *schema, mcp_str source, const pattern **ret,
                            mcp_error *why);
void mcp__schema_patterns_free(mcp_schema *schema);
mcp_str mcp__schema_pattern_source(const pattern *p);
/* Returns 1 if the text matches, 0 if not, or MCP_ELIMIT or MCP_ENOMEM. *match_data must be NULL
 * before the first match; after the last one the caller must pass it to
 * mcp__schema_match_done(). */
int mcp__schema_pattern_match(const mcp_schema *schema, const pattern *p, mcp_str text,
                              void **match_data, size_t *steps);
/* Gives the match data back for reuse. */
void mcp__schema_match_done(const mcp_schema *schema, void *match_data);
/* Checks whether a text is a valid pattern. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int mcp__schema_pattern_check(const mcp_schema *schema, mcp_str source);

/* ---- format.c -------------------------------------------------------------------------------- */

/* Returns 1 if the text has the format, 0 if not, or MCP_ENOMEM. */
typedef int format_fn(const mcp_schema *schema, mcp_str text);
struct format_info {
    const char *name;
    format_fn *check;
    const char *expected; /* for error texts, such as "a date like 2026-07-28" */
};
/* Returns NULL for an unknown format. */
const format_info *mcp__schema_format(mcp_str name);

bool mcp__schema_is_hostname(mcp_str s);
bool mcp__schema_is_ipv4(mcp_str s);
bool mcp__schema_is_ipv6(mcp_str s);
bool mcp__schema_is_email(mcp_str s, bool utf8);
/* If `iri` is set, bytes outside ASCII are allowed wherever letters are. */
bool mcp__schema_is_uri_reference(mcp_str s, bool absolute, bool iri);

static inline bool mcp__schema_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline bool mcp__schema_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool mcp__schema_hex(char c)
{
    return mcp__schema_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* ---- evaluated.c ----------------------------------------------------------------------------- */

/* The set of members or elements of one instance that were evaluated. */
typedef struct evaluated {
    bool all;
    size_t count; /* members of the instance */
    uint64_t *words;
    uint64_t first_word; /* the memory of `words` for up to 64 members */
} evaluated;

/* ---- validate.c ------------------------------------------------------------------------------ */

/* The path from the root of the instance, on the C stack. */
typedef struct frame {
    const struct frame *parent;
    mcp_str key;
    size_t index; /* SIZE_MAX for a member, whose name is `key` */
} frame;

/* The dynamic scope: the resources that were entered, innermost first. */
typedef struct scope {
    const struct scope *parent;
    const resource *resource;
} scope;

typedef struct validation {
    const mcp_schema *schema;
    const mcp_json *instance;
    size_t steps; /* number that is left */
    size_t depth; /* number that is left */
    int fatal;
    unsigned names; /* above 0 while the name of a property is validated */
    unsigned mute;  /* above 0 in a branch whose failure is not reported */
    size_t wanted;  /* issues that may still be reported */
    const frame *at;
    const scope *scope;
    void *match_data;
    mcp_schema_issue_fn *report;
    void *user;
    mcp_error *error; /* gets the first issue */
    bool failed;      /* whether *error is set */
} validation;

/* Applies a schema to a value. `seen` gets what was evaluated; it is NULL if no schema needs that.
 * `via` is the keyword that applies the schema. Returns whether the value conforms; also returns
 * false after a fatal error (see validation.fatal). */
bool mcp__schema_apply(validation *st, const node *n, const mcp_json *v, evaluated *seen,
                       keyword via);
/* Applies a schema to a member or an element. */
bool mcp__schema_apply_at(validation *st, const node *n, const mcp_json *v, mcp_str key,
                          size_t index, keyword via);
/* Applies a schema only to test whether the value conforms. No failure is reported. */
bool mcp__schema_try(validation *st, const node *n, const mcp_json *v, evaluated *seen,
                     keyword via);

bool mcp__schema_exhausted(validation *st, const char *what, size_t limit);
static inline bool mcp__schema_step(validation *st, size_t n)
{
    if (MCP__LIKELY(st->steps > n)) {
        st->steps -= n;
        return true;
    }
    return mcp__schema_exhausted(st, "steps", st->schema->limits.max_steps);
}
/* Returns whether to look for further failures after one was found. */
static inline bool mcp__schema_go_on(const validation *st)
{
    return !st->mute && !st->fatal && st->wanted > 0;
}

/* ---- objects.c and array.c ------------------------------------------------------------------- */

/* Returns a number made of the length and some bytes of a name, so that most comparisons of names
 * compare integers. */
uint64_t mcp__schema_name_order(mcp_str name);
int mcp__schema_member_compare(const member *a, const member *b);

bool mcp__schema_run_members(validation *st, const node *n, const members *m, const mcp_json *v,
                             evaluated *seen);
bool mcp__schema_run_dependent_required(validation *st, const node *n, const dependencies *d,
                                        const mcp_json *v);
bool mcp__schema_run_dependent_schemas(validation *st, const dependencies *d, const mcp_json *v,
                                       evaluated *seen);
bool mcp__schema_run_unevaluated_properties(validation *st, const node *n, const node *rest,
                                            const mcp_json *v, evaluated *seen);
bool mcp__schema_run_items(validation *st, const node *n, const item_plan *i, const mcp_json *v,
                           evaluated *seen);
bool mcp__schema_run_contains(validation *st, const node *n, const contains *c, const mcp_json *v,
                              evaluated *seen);
bool mcp__schema_run_unique(validation *st, const node *n, const mcp_json *v);
bool mcp__schema_run_unevaluated_items(validation *st, const node *n, const node *rest,
                                       const mcp_json *v, evaluated *seen);

/* On MCP_ENOMEM, sets st->fatal and returns false. */
bool mcp__schema_evaluated_init(validation *st, evaluated *e, const mcp_json *v);
void mcp__schema_evaluated_free(validation *st, evaluated *e);
void mcp__schema_evaluated_add(evaluated *to, const evaluated *from);
static inline void mcp__schema_evaluated_set(evaluated *e, size_t i)
{
    e->words[i / 64] |= UINT64_C(1) << (i % 64);
}
static inline bool mcp__schema_evaluated_has(const evaluated *e, size_t i)
{
    return e->all || (e->words[i / 64] >> (i % 64) & 1);
}

/* ---- report.c -------------------------------------------------------------------------------- */

/* These always return false. */
bool mcp__schema_report(validation *st, const node *n, keyword word, const char *format, ...)
    MCP_PRINTF(4, 5);
bool mcp__schema_report_type(validation *st, const node *n, unsigned types, const mcp_json *v);
bool mcp__schema_report_enum(validation *st, const node *n, const mcp_json *allowed);
bool mcp__schema_report_bound(validation *st, const node *n, keyword word, const char *before,
                              const mcp_json *bound, const mcp_json *v);
bool mcp__schema_report_value(validation *st, const node *n, keyword word, const char *before,
                              const mcp_json *value);
bool mcp__schema_report_unknown(validation *st, const node *n, const members *m, mcp_str name);
/* Reports that anyOf or oneOf matched nothing. Runs the branches again to find the one that is
 * closest to matching. */
bool mcp__schema_report_branches(validation *st, const node *n, keyword word, const node_list *list,
                                 const mcp_json *v);

/* A string for a message, shortened and without control characters. */
typedef struct excerpt {
    char text[80];
} excerpt;
const char *mcp__schema_show(excerpt *to, mcp_str s);

/* Appends the location of a schema, or of one of its keywords, in the form URI#pointer. */
void mcp__schema_where(mcp__buf *b, const node *n, keyword word);

#endif
