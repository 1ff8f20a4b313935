/* Compares tables of fields with a model, for random tables and random objects. The model computes
 * independently, value by value, what the generated schema accepts, what is read into the struct
 * and what is written from it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include <mcp/schema.h>

#include "json/json.h"
#include "support/failalloc.h"
#include "support/rounds.h"

enum { MAX_FIELDS = 6, MAX_ITEMS = 3, ROUNDS = 6000, FAILING_ROUNDS = 25 };

/* ---- random numbers, the same in every run --------------------------------------------------- */

static uint64_t seed;

static size_t below(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

#define PICK(array) (&(array)[below(MCP__COUNT(array))])

/* ---- what values and limits are taken from ---------------------------------------------------------- */

typedef struct word {
    const char *json;
    mcp_str value;
    size_t characters;
} word;

static const word words[] = {
    {"\"\"", {"", 0}, 0},
    {"\"a\"", {"a", 1}, 1},
    {"\"km\"", {"km", 2}, 2},
    {"\"k\\u006d\"", {"km", 2}, 2},
    {"\"mile\"", {"mile", 4}, 4},
    {"\"\\u00e9\"", {"\xc3\xa9", 2}, 1},
    {"\"\\ud83d\\ude00\"", {"\xf0\x9f\x98\x80", 4}, 1},
    {"\"a\\u0000b\"", {"a\0b", 3}, 3},
    {"\"km|mile\"", {"km|mile", 7}, 7},
};

typedef struct choices {
    const char *one_of;
    const char *each[4];
} choices;

static const choices all_choices[] = {
    {NULL, {NULL}}, {NULL, {NULL}},    {"km|mile", {"km", "mile"}},         {"", {""}},
    {"a", {"a"}},   {"a|", {"a", ""}}, {"\xc3\xa9|km", {"\xc3\xa9", "km"}},
};

typedef struct number {
    const char *json;
    double value;
    bool whole, fits; /* an int64_t */
    int64_t exact;
} number;

static const number numbers[] = {
    {"0", 0, true, true, 0},
    {"-0.0", 0, true, true, 0},
    {"1", 1, true, true, 1},
    {"3.0", 3, true, true, 3},
    {"30e-1", 3, true, true, 3},
    {"-5", -5, true, true, -5},
    {"-6", -6, true, true, -6},
    {"0.5", 0.5, false, false, 0},
    {"-4.5", -4.5, false, false, 0},
    {"1e17", 1e17, true, true, 100000000000000000},
    {"9007199254740993", 9007199254740992.0, true, true, 9007199254740993},
    {"9223372036854775807", 0x1p63, true, true, INT64_MAX},
    {"9223372036854775808", 0x1p63, true, false, 0},
    {"-9223372036854775808", -0x1p63, true, true, INT64_MIN},
    {"-9223372036854775809", -0x1p63, true, false, 0},
    {"12345678901234567890123", 12345678901234567890123.0, true, false, 0},
    {"1e300", 1e300, true, false, 0},
    {"-1e300", -1e300, true, false, 0},
};

static const double minima[] = {MCP_NO_MINIMUM, -5, 0, 1, 3}, maxima[] = {0, 1, 3, MCP_NO_MAXIMUM};

/* ---- a table and its struct ------------------------------------------------------------------ */

typedef struct table {
    mcp_field fields[MAX_FIELDS];
    const choices *choices[MAX_FIELDS];
    size_t n, bytes;
} table;

typedef union record {
    char bytes[MAX_FIELDS * (MAX_ITEMS + 1) * sizeof(mcp_str)];
    max_align_t aligned;
} record;

static void make_range(mcp_field *f)
{
    if (below(3) == 0)
        return;
    f->minimum = *PICK(minima);
    f->maximum = *PICK(maxima);
    if (f->minimum > f->maximum)
        f->maximum = below(2) ? MCP_NO_MAXIMUM : f->minimum; /* equal bounds mean no range */
    if (f->type == MCP_FIELD_NUMBER && f->maximum == 3)
        f->maximum = 3.25;
}

static void make_table(table *t)
{
    static const char *const names[MAX_FIELDS] = {"a", "b b", "\"", "\xc3\xa9", "type", "$ref"};
    *t = (table){.n = below(MAX_FIELDS + 1)};
    for (size_t i = 0; i < t->n; i++) {
        mcp_field *f = &t->fields[i];
        *f = (mcp_field){.size = sizeof(*f), .name = names[i], .offset = t->bytes};
        f->type = (mcp_field_type)below(5);
        f->required = below(2);
        f->title = below(2) ? "T" : NULL;
        bool list = f->type == MCP_FIELD_STRINGS;
        t->bytes += sizeof(mcp_str) * (list ? 1 + below(MAX_ITEMS) : 1);
        t->choices[i] = &all_choices[0];
        if (f->type == MCP_FIELD_INT || f->type == MCP_FIELD_NUMBER)
            make_range(f);
        if (list || f->type == MCP_FIELD_STRING) {
            t->choices[i] = PICK(all_choices);
            f->one_of = t->choices[i]->one_of;
            f->max_length = below(2) ? 1 + below(3) : 0;
        }
        if (list) {
            f->max_items = (t->bytes - f->offset) / sizeof(mcp_str);
            f->min_items = below(f->max_items + 1);
            f->count_offset = t->bytes;
            t->bytes += sizeof(mcp_str);
        }
    }
    assert_int_equal(mcp__fields_check(t->fields, t->n, false, NULL), MCP_OK);
}

/* ---- an object ------------------------------------------------------------------------------------------ */

typedef enum value_kind {
    VALUE_ABSENT,
    VALUE_WORD,
    VALUE_NUMBER,
    VALUE_BOOL,
    VALUE_LIST,
    VALUE_MIXED_LIST, /* one element is not a string */
    VALUE_NULL,
    VALUE_OBJECT,
    VALUE_KINDS
} value_kind;

typedef struct value {
    value_kind kind;
    const word *words[MAX_ITEMS + 1];
    size_t n;
    const number *number;
    bool truth;
} value;

typedef struct object {
    value values[MAX_FIELDS];
    bool stranger; /* a property that the table does not have */
    char text[4096];
} object;

static void make_value(value *v, mcp_field_type type)
{
    static const value_kind fitting[] = {VALUE_WORD, VALUE_NUMBER, VALUE_NUMBER, VALUE_BOOL,
                                         VALUE_LIST};
    v->kind = below(4) ? fitting[type] : (value_kind)below(VALUE_KINDS);
    v->n = v->kind == VALUE_WORD ? 1 : below(MAX_ITEMS + 2);
    for (size_t i = 0; i < v->n; i++)
        v->words[i] = PICK(words);
    v->number = PICK(numbers);
    v->truth = below(2);
}

static void put(object *o, const char *text)
{
    assert_true(strlen(o->text) + strlen(text) < sizeof(o->text));
    strcat(o->text, text);
}

static void put_value(object *o, const value *v)
{
    switch (v->kind) {
    case VALUE_WORD: put(o, v->words[0]->json); break;
    case VALUE_NUMBER: put(o, v->number->json); break;
    case VALUE_BOOL: put(o, v->truth ? "true" : "false"); break;
    case VALUE_LIST:
    case VALUE_MIXED_LIST:
        put(o, "[");
        for (size_t i = 0; i < v->n; i++)
            put(o, i ? "," : ""), put(o, v->words[i]->json);
        if (v->kind == VALUE_MIXED_LIST)
            put(o, v->n ? ",1" : "1");
        put(o, "]");
        break;
    case VALUE_OBJECT: put(o, "{}"); break;
    default: put(o, "null");
    }
}

static void make_object(object *o, const table *t)
{
    static const char *const keys[MAX_FIELDS] = {"\"a\"",        "\"b b\"",  "\"\\\"\"",
                                                 "\"\xc3\xa9\"", "\"type\"", "\"$ref\""};
    *o = (object){.stranger = below(10) == 0};
    put(o, o->stranger ? "{\"stranger\":1" : "{");
    for (size_t i = 0; i < t->n; i++) {
        make_value(&o->values[i], t->fields[i].type);
        if (o->values[i].kind == VALUE_ABSENT)
            continue;
        if (o->text[1])
            put(o, ",");
        put(o, keys[i]);
        put(o, ":");
        put_value(o, &o->values[i]);
    }
    put(o, "}");
}

/* ---- the model: is it accepted? ---------------------------------------------------------------------------- */

static bool accepts_word(const mcp_field *f, const choices *c, const word *w)
{
    bool found = !c->one_of;
    for (size_t i = 0; i < MCP__COUNT(c->each) && c->each[i]; i++)
        found |= mcp_str_eq(w->value, mcp_str_from(c->each[i]));
    return found && (f->max_length == 0 || w->characters <= f->max_length);
}

static bool accepts_number(const mcp_field *f, const number *n)
{
    if (f->type == MCP_FIELD_INT && !(n->whole && n->fits))
        return false;
    if (!(f->maximum > f->minimum))
        return true;
    return n->value >= f->minimum && n->value <= f->maximum;
}

static bool accepts_value(const mcp_field *f, const choices *c, const value *v)
{
    switch (f->type) {
    case MCP_FIELD_STRING: return v->kind == VALUE_WORD && accepts_word(f, c, v->words[0]);
    case MCP_FIELD_BOOL: return v->kind == VALUE_BOOL;
    case MCP_FIELD_INT:
    case MCP_FIELD_NUMBER: return v->kind == VALUE_NUMBER && accepts_number(f, v->number);
    case MCP_FIELD_STRINGS: break;
    }
    bool all = v->kind == VALUE_LIST && v->n >= f->min_items && v->n <= f->max_items;
    for (size_t i = 0; all && i < v->n; i++)
        all = accepts_word(f, c, v->words[i]);
    return all;
}

static bool accepts(const table *t, const object *o, bool closed)
{
    bool all = !(closed && o->stranger);
    for (size_t i = 0; i < t->n; i++)
        all = all && (o->values[i].kind == VALUE_ABSENT
                          ? !t->fields[i].required
                          : accepts_value(&t->fields[i], t->choices[i], &o->values[i]));
    return all;
}

/* ---- the model: what is read -------------------------------------------------------------------------------- */

static void *at(const record *r, size_t offset)
{
    return (char *)(uintptr_t)r->bytes + offset;
}

static bool same_word(mcp_str s, const word *w)
{
    return s.ptr && mcp_str_eq(s, w->value);
}

static bool same_words(const record *r, const mcp_field *f, const value *v)
{
    const mcp_str *list = at(r, f->offset);
    bool same = *(size_t *)at(r, f->count_offset) == v->n;
    for (size_t i = 0; same && i < v->n; i++)
        same = same_word(list[i], v->words[i]);
    return same;
}

/* Returns whether the struct has the value, or its previous contents if the value is absent. */
static bool is_read(const mcp_field *f, const value *v, const record *got, const record *before)
{
    const number *n = v->kind == VALUE_NUMBER ? v->number : NULL;
    switch (f->type) {
    case MCP_FIELD_STRING:
        if (v->kind == VALUE_WORD)
            return same_word(*(mcp_str *)at(got, f->offset), v->words[0]);
        break;
    case MCP_FIELD_BOOL:
        if (v->kind == VALUE_BOOL)
            return *(bool *)at(got, f->offset) == v->truth;
        break;
    case MCP_FIELD_NUMBER:
        if (n)
            return *(double *)at(got, f->offset) == n->value;
        break;
    case MCP_FIELD_INT:
        if (n && n->whole && n->fits)
            return *(int64_t *)at(got, f->offset) == n->exact;
        break;
    case MCP_FIELD_STRINGS:
        if (v->kind == VALUE_LIST && v->n <= f->max_items)
            return same_words(got, f, v);
        break;
    }
    size_t bytes = f->type == MCP_FIELD_STRINGS ? f->count_offset + sizeof(size_t) - f->offset
                                                : sizeof(mcp_str);
    return memcmp(at(got, f->offset), at(before, f->offset), bytes) == 0;
}

/* ---- a struct, written and read back ------------------------------------------------------------------------- */

static void fill(const table *t, record *r)
{
    memset(r, 0, sizeof(*r));
    for (size_t i = 0; i < t->n; i++) {
        const mcp_field *f = &t->fields[i];
        void *to = at(r, f->offset);
        switch (f->type) {
        case MCP_FIELD_STRING: *(mcp_str *)to = below(5) ? PICK(words)->value : (mcp_str){0}; break;
        case MCP_FIELD_INT: *(int64_t *)to = PICK(numbers)->exact; break;
        case MCP_FIELD_NUMBER:
            *(double *)to = below(5) ? PICK(numbers)->value + 0.1 : (double)NAN;
            break;
        case MCP_FIELD_BOOL: *(bool *)to = below(2); break;
        case MCP_FIELD_STRINGS: {
            size_t n = below(f->max_items + 1);
            for (size_t k = 0; k < n; k++)
                ((mcp_str *)to)[k] = PICK(words)->value;
            *(size_t *)at(r, f->count_offset) = n;
        }
        }
    }
}

static bool same_strings(const mcp_str *a, const mcp_str *b, size_t n)
{
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same = same && mcp_str_eq(a[i], b[i]);
    return same;
}

/* Returns whether `back`, which was zeroed, has the contents of `r`, except what JSON cannot
 * represent. */
static bool came_back(const mcp_field *f, const record *r, const record *back)
{
    const void *a = at(r, f->offset), *b = at(back, f->offset);
    switch (f->type) {
    case MCP_FIELD_STRING:
        return !((const mcp_str *)a)->ptr == !((const mcp_str *)b)->ptr && same_strings(a, b, 1);
    case MCP_FIELD_INT: return *(const int64_t *)a == *(const int64_t *)b;
    case MCP_FIELD_NUMBER:
        return *(const double *)b == (isnan(*(const double *)a) ? 0 : *(const double *)a);
    case MCP_FIELD_BOOL: return *(const bool *)a == *(const bool *)b;
    case MCP_FIELD_STRINGS: break;
    }
    size_t n = *(size_t *)at(r, f->count_offset);
    return *(size_t *)at(back, f->count_offset) == n && same_strings(a, b, n);
}

/* ---- the tests -------------------------------------------------------------------------------------------------- */

static int make_schema(const table *t, bool closed, const mcp_allocator *a, mcp_schema **ret)
{
    mcp_str text = {0};
    mcp_json_writer *w = mcp_json_writer_new(a, 0);
    mcp__fields_schema(t->fields, t->n, closed, w);
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK)
        rc = mcp_schema_compile_text(NULL, text, MCP_OPTIONS(mcp_schema_options, .allocator = a),
                                     ret, NULL);
    mcp_json_writer_free(w);
    return rc;
}

static void check_object(const table *t, const object *o, const mcp_json *root)
{
    record before, got;
    for (int closed = 0; closed < 2; closed++) {
        mcp_schema *schema;
        assert_int_equal(make_schema(t, closed, NULL, &schema), MCP_OK);
        bool accepted = mcp_schema_validate(schema, root, NULL) == MCP_OK;
        mcp_schema_free(schema);
        if (accepted != accepts(t, o, closed))
            fail_msg("%s is %s", o->text, accepted ? "accepted" : "refused");
    }
    memset(&before, (int)below(2), sizeof(before)); /* a bool is 0 or 1 */
    got = before;
    mcp_fields_read(t->fields, t->n, root, &got);
    for (size_t i = 0; i < t->n; i++)
        if (!is_read(&t->fields[i], &o->values[i], &got, &before))
            fail_msg("%s is not read as it is: \"%s\"", o->text, t->fields[i].name);
    assert_memory_equal(got.bytes + t->bytes, before.bytes + t->bytes, sizeof(got) - t->bytes);
}

static void test_objects(void **state)
{
    size_t accepted = 0;
    (void)state;
    for (seed = 0; seed < rounds(ROUNDS); seed++) {
        uint64_t round = seed;
        static table t;
        static object o;
        mcp_json_doc *doc = NULL;
        make_table(&t);
        make_object(&o, &t);
        assert_int_equal(mcp_json_parse(mcp_str_from(o.text), NULL, NULL, &doc, NULL), MCP_OK);
        check_object(&t, &o, mcp_json_root(doc));
        accepted += accepts(&t, &o, true);
        mcp_json_free(doc);
        seed = round;
    }
    assert_in_range(accepted, rounds(ROUNDS) / 8,
                    rounds(ROUNDS) - rounds(ROUNDS) / 8); /* both outcomes are frequent */
}

static int write_and_read(const table *t, const record *r, const mcp_allocator *a)
{
    record back;
    mcp_str text = {0};
    mcp_json_doc *doc = NULL;
    mcp_json_writer *w = mcp_json_writer_new(a, 0);
    mcp_fields_write(t->fields, t->n, r, w);
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK)
        rc = mcp_json_parse(text, NULL, a, &doc, NULL);
    if (rc == MCP_OK) {
        memset(&back, 0, sizeof(back));
        mcp_fields_read(t->fields, t->n, mcp_json_root(doc), &back);
        for (size_t i = 0; i < t->n; i++)
            if (!came_back(&t->fields[i], r, &back))
                fail_msg("%.*s: another \"%s\" came back", (int)text.len, text.ptr,
                         t->fields[i].name);
    }
    mcp_json_free(doc);
    mcp_json_writer_free(w);
    return rc;
}

static void test_round_trip(void **state)
{
    (void)state;
    for (seed = 0; seed < rounds(ROUNDS); seed++) {
        uint64_t round = seed;
        static table t;
        record r;
        make_table(&t);
        fill(&t, &r);
        assert_int_equal(write_and_read(&t, &r, NULL), MCP_OK);
        seed = round;
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t round = 0; round < FAILING_ROUNDS; round++) {
        static table t;
        record r;
        seed = round;
        make_table(&t);
        fill(&t, &r);
        for (size_t n = 1;; n++) {
            failalloc f = {.fail_at = n};
            mcp_allocator a = failalloc_allocator(&f);
            mcp_schema *schema = NULL;
            int rc = make_schema(&t, true, &a, &schema);
            mcp_schema_free(schema);
            if (rc == MCP_OK)
                rc = write_and_read(&t, &r, &a);
            assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
            assert_int_equal(f.live, 0);
            if (f.calls < n)
                break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
