/* contains.c: the condition that a value of a row contains a text (common/contains.h). The database
 * compares, so that only rows that match are sent.
 *
 * What is compared is the text that a cell has. Only the columns are looked at that the caller's role
 * may read. The collations are named, since that of a column may not allow to look for a part of a
 * text. The letters of ASCII have the same two cases in "C", which needs no locale and is faster; those
 * of other texts are compared as the database's own locale has them.
 */
#include "provider.h"

/* Types whose texts consist of these characters, so that they are not converted for other texts. Bytes
 * are no text. */
static const struct {
    unsigned oid;
    const char *characters; /* in lower case */
} types[] = {
    {POSTGRES_BYTEA, ""},
    {POSTGRES_BOOL, "truefals"},
    {POSTGRES_INT2, "0123456789-"},
    {POSTGRES_INT4, "0123456789-"},
    {POSTGRES_INT8, "0123456789-"},
    {POSTGRES_OID, "0123456789"},
    {POSTGRES_FLOAT4, "0123456789+-.einfatyn"},
    {POSTGRES_FLOAT8, "0123456789+-.einfatyn"},
    {POSTGRES_NUMERIC, "0123456789+-.einfatyn"},
    {POSTGRES_DATE, "0123456789-: .+bcinfty"},
    {POSTGRES_TIME, "0123456789-: .+bcinfty"},
    {POSTGRES_TIMETZ, "0123456789-: .+bcinfty"},
    {POSTGRES_TIMESTAMP, "0123456789-: .+bcinfty"},
    {POSTGRES_TIMESTAMPTZ, "0123456789-: .+bcinfty"},
    {POSTGRES_UUID, "0123456789abcdef-"},
};

static bool consists_of(mcp_str text, const char *characters)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!strchr(characters, c >= 'A' && c <= 'Z' ? c | 0x20 : c))
            return false;
    }
    return true;
}

/* Returns whether values of this column may contain the text. */
static bool may_contain(mcp_str text, const postgres_column *c)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (types[i].oid == c->oid)
            return consists_of(text, types[i].characters);
    return true;
}

static bool is_ascii(mcp_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80)
            return false;
    return true;
}

const char *postgres_pattern_of(mcp_request *req, mcp_str text, bool loose)
{
    char *made = mcp_request_alloc(req, 2 * text.len + 3), *to = made;
    if (!made)
        return NULL;
    *to++ = '%';
    for (size_t i = 0; i < text.len; i++) {
        if (loose && ((unsigned char)text.ptr[i] >= 0x80 || strchr("iksIKS", text.ptr[i]))) {
            *to++ = '%';
            continue;
        }
        if (strchr("\\%_", text.ptr[i]))
            *to++ = '\\';
        *to++ = text.ptr[i];
    }
    *to++ = '%';
    *to = 0;
    return made;
}

static void put_text(postgres_sql *sql, const postgres_column *c, const char *collation)
{
    postgres_put_name(sql, c->name);
    postgres_putf(sql, "::pg_catalog.text COLLATE pg_catalog.\"%s\"", collation);
}

static void put_like(postgres_sql *sql, const postgres_column *c, const char *collation, int value)
{
    put_text(sql, c, collation);
    postgres_putf(sql, " OPERATOR(pg_catalog.~~*) $%d::pg_catalog.text", value);
}

/* The values from `first` on are the text, or its pattern, or its loose and its strict pattern: a locale
 * takes several times as long, so it is asked about what fits without it. */
static void put_condition(postgres_sql *sql, const postgres_column *c, bool ignore_case, int first,
                          int last)
{
    if (!ignore_case) {
        postgres_put(sql, "pg_catalog.strpos(");
        put_text(sql, c, "C");
        postgres_putf(sql, ", $%d::pg_catalog.text) OPERATOR(pg_catalog.>) 0", first);
    } else if (first == last) {
        put_like(sql, c, "C", first);
    } else {
        put_like(sql, c, "C", first);
        postgres_put(sql, " AND ");
        put_like(sql, c, "default", last);
    }
}

/* Adds the values. Returns the number of the last one, or 0 if there is no memory. */
static int add_values(postgres_job *j)
{
    const common_contains *c = &j->contains;
    bool loose = c->ignore_case && !is_ascii(c->text);
    const char *values[] = {loose ? postgres_pattern_of(j->req, c->text, true) : "",
                            c->ignore_case ? postgres_pattern_of(j->req, c->text, false)
                                           : c->text.ptr};
    if (!values[0] || !values[1])
        return 0;
    for (size_t i = !loose; i < 2; i++)
        j->op.value[j->op.n_value++] = values[i];
    return j->op.n_value;
}

bool postgres_put_contains(postgres_job *j)
{
    const char *before = j->op.n_value ? " AND (" : " WHERE (";
    int first = j->op.n_value + 1, last = add_values(j);
    size_t n = 0;
    if (!last)
        return false;
    for (size_t i = 0; i < j->table->n_column; i++) {
        const postgres_column *c = &j->table->column[i];
        if (!may_contain(j->contains.text, c))
            continue;
        j->op.inert = j->op.inert && postgres_column_is_plain(c);
        postgres_put(&j->sql, n++ ? " OR " : before);
        put_condition(&j->sql, c, j->contains.ignore_case, first, last);
    }
    if (!n) { /* no column may contain it */
        postgres_putf(&j->sql, "%sfalse", before);
        j->op.n_value = first - 1;
    }
    postgres_put(&j->sql, ")");
    return true;
}
