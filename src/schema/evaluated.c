/* evaluated.c: one bit for each member or element of one instance, for unevaluatedProperties and
 * unevaluatedItems.
 *
 * Bits are recorded only below a schema that needs them. A branch that may fail (of anyOf, oneOf,
 * if) has its own bits, which are added only if it succeeds, because a schema that fails evaluates
 * nothing.
 */
#include "schema/schema.h"

bool mcp__schema_evaluated_init(validation *st, evaluated *e, const mcp_json *v)
{
    *e = (evaluated){.count = mcp_json_count(v)};
    e->words = &e->first_word;
    if (e->count <= 64)
        return true;
    size_t words = e->count / 64 + 1;
    if (!mcp__schema_step(st, words))
        return false;
    e->words = mcp__zalloc(&st->schema->allocator, words * sizeof(e->words[0]));
    if (!e->words)
        st->fatal = MCP_ENOMEM;
    return e->words != NULL;
}

void mcp__schema_evaluated_free(validation *st, evaluated *e)
{
    if (e->words != &e->first_word)
        mcp__release(&st->schema->allocator, e->words);
}

void mcp__schema_evaluated_add(evaluated *to, const evaluated *from)
{
    to->all |= from->all;
    for (size_t i = 0; i < (from->count + 63) / 64; i++)
        to->words[i] |= from->words[i];
}
