/* schema.h: shared by the files of this layer: the compiled program, and the state of its compilation.
 *
 *   resolve.c       references of RFC 3986 section 5
 *   set.c           documents by URI; metaschemas.c the built-in ones
 *   keywords.c      the table of keywords, dialects and vocabularies
 *   scan.c          finds every subschema of a document: nodes, resources, anchors
 *   reference.c     where a $ref leads
 *   compile.c       a node's keywords to instructions; emit.c one function per keyword
 *   number.c        exact arithmetic on JSON numbers; equal.c equality and hash of values
 *   pattern.c       ECMA-262 patterns on PCRE2
 *   format.c        formats; format_net.c those of hosts and URIs
 *   validate.c      runs the program; object.c and array.c the keywords of containers
 *   evaluated.c     which members unevaluated* applies to
 *   report.c        error texts
 *
 * What a schema is compiled to is in program.h.
 */
#ifndef MCP_SRC_SCHEMA_H
#define MCP_SRC_SCHEMA_H

#include <stdatomic.h>

#include <mcp/uri.h>

#include "schema/program.h"

/* ---- nodes --------------------------------------------------------------------------------------- */

typedef enum node_kind {
    NODE_TRUE,
    NODE_FALSE,
    NODE_OBJECT,
} node_kind;

/* One subschema. */
struct node {
    const mcp_json *value; /* in our copy of the document; also its key in a map */
    resource *resource;
    const node *parent; /* the schema around it, NULL at the root of a document */
    keyword place; /* the keyword of the parent that holds it; KW_COUNT: reached by a pointer */
    mcp_str step;  /* the name within that keyword, decoded, or empty */
    size_t index;  /* the index within that keyword, or SIZE_MAX */
    node_kind kind;
    bool queued;
    uint16_t tracks; /* types of instances for which it records what was evaluated */
    instruction *code;
    size_t count;
    node *next; /* in the queue of nodes to compile */
};

/* One of our copies of a document. */
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
    _Atomic(void *) spare; /* match data of PCRE2, kept for the next match */
};

/* ---- resolve.c -------------------------------------------------------------------------------- */

/* Splits a URI into the text before "#" and after it. Returns false if there is no "#". */
bool mcp__schema_split(mcp_str uri, mcp_str *without, mcp_str *fragment);
/* Largest size of a URI without its fragment. Limited because every subschema may have its own. */
enum { SCHEMA_MAX_URI = 2048 };
/* Resolves a reference against its base (RFC 3986 section 5.2), without its fragment, into the
 * arena. A relative base is used as it is. Returns MCP_ELIMIT or MCP_ENOMEM on failure. */
int mcp__schema_resolve(mcp__arena *arena, mcp_str base, mcp_str reference, mcp_str *ret);

/* ---- set.c and metaschemas.c ------------------------------------------------------------------ */

typedef struct set_entry {
    mcp_str uri;
    mcp_str id; /* its root $id, resolved; the same as uri if it has none */
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

/* ---- compiling: scan.c, reference.c, compile.c, emit.c ----------------------------------------- */

enum { MAX_INSTRUCTIONS = 40 };

typedef struct compiler {
    mcp_schema *schema;
    const mcp_schema_set *set;
    mcp_error *error;
    size_t subschemas;
    mcp__map nodes;           /* address of a JSON value to node */
    mcp__map resources;       /* URI to resource */
    mcp__map anchors;         /* resource and name to node */
    node *queue, **queue_end; /* nodes to compile, in order */
    bool all_loaded;          /* all documents of the set have been loaded */
    bool root_done;           /* the document being scanned is not the one that the caller passed */
    /* state of the node being compiled */
    node *node;
    const mcp_json *values[KW_COUNT];
    instruction code[MAX_INSTRUCTIONS];
    size_t count;
} compiler;

/* Fails with a message that begins with the location in the schema. word may be KW_COUNT. */
int mcp__schema_refuse(compiler *c, int code, const node *at, keyword word, const char *format, ...)
    MCP_PRINTF(5, 6);
int mcp__schema_no_memory(compiler *c);

/* Scans a document; uri is where it was found. */
int mcp__schema_load(compiler *c, mcp_str text, mcp_str uri, node **ret);
/* Scans a subschema in a place where the scan found none, because a pointer led there. */
int mcp__schema_scan_value(compiler *c, const mcp_json *value, const node *parent, node **ret);
node *mcp__schema_node_of(const compiler *c, const mcp_json *value);

/* Finds the node that a $ref leads to. *anchor gets the fragment if it is a plain name, else "". */
int mcp__schema_find(compiler *c, const node *from, keyword word, mcp_str reference, node **ret,
                     mcp_str *anchor);
/* Resolves a reference against the base of a node, without its fragment. */
int mcp__schema_resolve_at(compiler *c, const node *at, keyword word, mcp_str reference,
                           mcp_str *ret);
/* Makes the key of an anchor in c->anchors. MCP_ENOMEM. */
int mcp__schema_anchor_key(compiler *c, const resource *r, mcp_str name, mcp_str *ret);
/* Finds the dialect that a $schema names. */
int mcp__schema_find_dialect(compiler *c, const node *at, mcp_str uri, unsigned *ret);

/* Queues a node and the dynamic anchors of its resource. */
void mcp__schema_queue(compiler *c, node *n);
int mcp__schema_emit(compiler *c); /* all keywords of c->node */

/* ---- number.c --------------------------------------------------------------------------------- */

/* Returns a negative number, 0 or a positive number. */
int mcp__schema_compare(const mcp_json *a, const mcp_json *b);
bool mcp__schema_is_integral(const mcp_json *number);
/* Returns MCP_OK, MCP_EINVAL (not above 0) or MCP_EUNSUPPORTED (too many digits). */
int mcp__schema_divisor(const mcp_json *number, divisor *ret);
bool mcp__schema_is_multiple(const mcp_json *number, const divisor *d);
/* Reads a non-negative integer (including 2.0); SIZE_MAX if it is larger. Returns false for other
 * numbers. */
bool mcp__schema_as_size(const mcp_json *number, size_t *ret);

/* ---- equal.c ---------------------------------------------------------------------------------- */

/* Both charge *steps. Once it is 0, they return "different" or an arbitrary hash. */
bool mcp__schema_equal(const mcp_json *a, const mcp_json *b, size_t *steps);
/* Equal values have equal hashes. */
uint64_t mcp__schema_hash(const mcp_json *value, size_t *steps);

/* ---- pattern.c -------------------------------------------------------------------------------- */

/* Compiles a pattern and keeps it in schema->patterns. Returns MCP_OK, MCP_EINVAL with *why,
 * MCP_ELIMIT or MCP_ENOMEM. */
int mcp__schema_pattern_new(mcp_schema *schema, mcp_str source, const pattern **ret,
                            mcp_error *why);
void mcp__schema_patterns_free(mcp_schema *schema);
mcp_str mcp__schema_pattern_source(const pattern *p);
/* Returns 1, 0, MCP_ELIMIT or MCP_ENOMEM. *match_data belongs to the caller and is NULL at first;
 * the caller passes it to mcp__schema_match_done(). */
int mcp__schema_pattern_match(const mcp_schema *schema, const pattern *p, mcp_str text,
                              void **match_data, size_t *steps);
/* Returns the match data for reuse. */
void mcp__schema_match_done(const mcp_schema *schema, void *match_data);
/* Whether a text is a pattern. MCP_OK, MCP_EINVAL, MCP_ENOMEM. */
int mcp__schema_pattern_check(const mcp_schema *schema, mcp_str source);

/* ---- format.c --------------------------------------------------------------------------------- */

/* Returns 1, 0 or MCP_ENOMEM. */
typedef int format_fn(const mcp_schema *schema, mcp_str text);
struct format_info {
    const char *name;
    format_fn *check;
    const char *expected; /* "a date like 2026-07-28" */
};
/* Returns NULL for an unknown format. */
const format_info *mcp__schema_format(mcp_str name);

bool mcp__schema_is_hostname(mcp_str s);
bool mcp__schema_is_ipv4(mcp_str s);
bool mcp__schema_is_ipv6(mcp_str s);
bool mcp__schema_is_email(mcp_str s, bool utf8);
/* iri: bytes above ASCII are allowed as letters. */
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

/* ---- evaluated.c ------------------------------------------------------------------------------ */

/* Which members or elements of one instance have been evaluated. */
typedef struct evaluated {
    bool all;
    size_t count; /* members of the instance */
    uint64_t *words;
    uint64_t few; /* words points here when 64 suffice */
} evaluated;

/* ---- validate.c ------------------------------------------------------------------------------- */

/* The path from the root of the instance, on the C stack. */
typedef struct frame {
    const struct frame *parent;
    mcp_str key;
    size_t index; /* SIZE_MAX: a member, named by key */
} frame;

/* The dynamic scope: the resources that were entered, innermost first. */
typedef struct scope {
    const struct scope *parent;
    const resource *resource;
} scope;

typedef struct validation {
    const mcp_schema *schema;
    const mcp_json *instance;
    size_t steps; /* left */
    size_t depth; /* left */
    int fatal;
    unsigned names; /* above 0 while the name of a property is validated */
    unsigned mute;  /* above 0 in a branch whose failure is not decisive */
    size_t wanted;  /* issues that may still be reported */
    const frame *at;
    const scope *scope;
    void *match_data;
    mcp_schema_issue_fn *report;
    void *user;
    mcp_error *error; /* gets the first issue */
    bool failed;      /* error is set */
} validation;

/* Applies a schema. `seen` is NULL if no schema records what was evaluated. via: the keyword that
 * applies it. Also returns false after a fatal error, see validation.fatal. */
bool mcp__schema_apply(validation *st, const node *n, const mcp_json *v, evaluated *seen,
                       keyword via);
/* Applies a schema to a member or an element. */
bool mcp__schema_apply_at(validation *st, const node *n, const mcp_json *v, mcp_str key,
                          size_t index, keyword via);
/* Applies a schema to a branch: nothing is reported. */
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
/* After a failure: whether to look for further ones. */
static inline bool mcp__schema_go_on(const validation *st)
{
    return !st->mute && !st->fatal && st->wanted > 0;
}

/* ---- object.c and array.c --------------------------------------------------------------------- */

/* Orders names by length and first bytes, so that most comparisons are of integers. */
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

/* ---- report.c --------------------------------------------------------------------------------- */

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
/* Reports that anyOf or oneOf matched nothing. Runs the branches again to find the one that came
 * nearest. */
bool mcp__schema_report_branches(validation *st, const node *n, keyword word, const node_list *list,
                                 const mcp_json *v);

/* A name for a message: shortened, without control characters. */
typedef struct excerpt {
    char text[80];
} excerpt;
const char *mcp__schema_show(excerpt *to, mcp_str s);

/* Appends the location of a schema, or of its keyword: URI#pointer. */
void mcp__schema_where(mcp__buf *b, const node *n, keyword word);

#endif
