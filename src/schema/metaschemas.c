/* metaschemas.c: the metaschemas of 2020-12 and draft-07, to which a $ref may refer.
 *
 * They contain the assertions of the published documents, without the annotations. They are
 * compiled only for a schema that refers to them.
 */
#include "schema/schema.h"

static const struct {
    const char *uri;
    const char *text;
} metaschemas[] = {
    /* clang-format off */
    {"https://json-schema.org/draft/2020-12/schema",
     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
     "ema.org/draft/2020-12/schema\",\"$dynamicAnchor\":\"meta\",\"$vocabulary\":{\"https://js"
     "on-schema.org/draft/2020-12/vocab/core\":true,\"https://json-schema.org/draft/2020-12/vo"
     "cab/applicator\":true,\"https://json-schema.org/draft/2020-12/vocab/unevaluated\":true,\""
     "https://json-schema.org/draft/2020-12/vocab/validation\":true,\"https://json-schema.org/"
     "draft/2020-12/vocab/meta-data\":true,\"https://json-schema.org/draft/2020-12/vocab/forma"
     "t-annotation\":true,\"https://json-schema.org/draft/2020-12/vocab/content\":true},\"allO"
     "f\":[{\"$ref\":\"meta/core\"},{\"$ref\":\"meta/applicator\"},{\"$ref\":\"meta/unevaluate"
     "d\"},{\"$ref\":\"meta/validation\"},{\"$ref\":\"meta/meta-data\"},{\"$ref\":\"meta/forma"
     "t-annotation\"},{\"$ref\":\"meta/content\"}],\"type\":[\"object\",\"boolean\"],\"propert"
     "ies\":{\"definitions\":{\"type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\""
     "#meta\"},\"deprecated\":true},\"dependencies\":{\"type\":\"object\",\"additionalProperti"
     "es\":{\"anyOf\":[{\"$dynamicRef\":\"#meta\"},{\"$ref\":\"meta/validation#/$defs/stringAr"
     "ray\"}]},\"deprecated\":true},\"$recursiveAnchor\":{\"$ref\":\"meta/core#/$defs/anchorSt"
     "ring\",\"deprecated\":true},\"$recursiveRef\":{\"$ref\":\"meta/core#/$defs/uriReferenceS"
     "tring\",\"deprecated\":true}}}"},
    {"https://json-schema.org/draft/2020-12/meta/core",
     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
     "ema.org/draft/2020-12/meta/core\",\"$dynamicAnchor\":\"meta\",\"$vocabulary\":{\"https:/"
     "/json-schema.org/draft/2020-12/vocab/core\":true},\"type\":[\"object\",\"boolean\"],\"pr"
     "operties\":{\"$id\":{\"$ref\":\"#/$defs/uriReferenceString\",\"pattern\":\"^[^#]*#?$\"},"
     "\"$schema\":{\"$ref\":\"#/$defs/uriString\"},\"$ref\":{\"$ref\":\"#/$defs/uriReferenceSt"
     "ring\"},\"$anchor\":{\"$ref\":\"#/$defs/anchorString\"},\"$dynamicRef\":{\"$ref\":\"#/$d"
     "efs/uriReferenceString\"},\"$dynamicAnchor\":{\"$ref\":\"#/$defs/anchorString\"},\"$voca"
     "bulary\":{\"type\":\"object\",\"propertyNames\":{\"$ref\":\"#/$defs/uriString\"},\"addit"
     "ionalProperties\":{\"type\":\"boolean\"}},\"$comment\":{\"type\":\"string\"},\"$defs\":{"
     "\"type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\"}}},\"$defs\":{\""
     "anchorString\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z_][-A-Za-z0-9._]*$\"},\"uriStr"
     "ing\":{\"type\":\"string\",\"format\":\"uri\"},\"uriReferenceString\":{\"type\":\"string"
     "\",\"format\":\"uri-reference\"}}}"},
    {"https://json-schema.org/draft/2020-12/meta/applicator",
     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
     "ema.org/draft/2020-12/meta/applicator\",\"$dynamicAnchor\":\"meta\",\"$vocabulary\":{\"h"
     "ttps://json-schema.org/draft/2020-12/vocab/applicator\":true},\"type\":[\"object\",\"boo"
     "lean\"],\"properties\":{\"prefixItems\":{\"$ref\":\"#/$defs/schemaArray\"},\"items\":{\""
     "$dynamicRef\":\"#meta\"},\"contains\":{\"$dynamicRef\":\"#meta\"},\"additionalProperties"
     "\":{\"$dynamicRef\":\"#meta\"},\"properties\":{\"type\":\"object\",\"additionalPropertie"
     "s\":{\"$dynamicRef\":\"#meta\"}},\"patternProperties\":{\"type\":\"object\",\"additional"
     "Properties\":{\"$dynamicRef\":\"#meta\"},\"propertyNames\":{\"format\":\"regex\"}},\"dep"
     "endentSchemas\":{\"type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\""
     "}},\"propertyNames\":{\"$dynamicRef\":\"#meta\"},\"if\":{\"$dynamicRef\":\"#meta\"},\"th"
     "en\":{\"$dynamicRef\":\"#meta\"},\"else\":{\"$dynamicRef\":\"#meta\"},\"allOf\":{\"$ref\""
     ":\"#/$defs/schemaArray\"},\"anyOf\":{\"$ref\":\"#/$defs/schemaArray\"},\"oneOf\":{\"$ref"
     "\":\"#/$defs/schemaArray\"},\"not\":{\"$dynamicRef\":\"#meta\"}},\"$defs\":{\"schemaArra"
     "y\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$dynamicRef\":\"#meta\"}}}}"},
    {"https://json-schema.org/draft/2020-12/meta/unevaluated",
     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
     "ema.org/draft/2020-12/meta/unevaluated\",\"$dynamicAnchor\":\"meta\",\"$vocabulary\":{\""
     "https://json-schema.org/draft/2020-12/vocab/unevaluated\":true},\"type\":[\"object\",\"b"
     "oolean\"],\"properties\":{\"unevaluatedItems\":{\"$dynamicRef\":\"#meta\"},\"unevaluated"
     "Properties\":{\"$dynamicRef\":\"#meta\"}}}"},
    {"https://json-schema.org/draft/2020-12/meta/validation",
     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
     "ema.org/draft/2020-12/meta/validation\",\"$dynamicAnchor\":\"meta\",\"$vocabulary\":{\"h"
     "ttps://json-schema.org/draft/2020-12/vocab/validation\":true},\"type\":[\"object\",\"boo"
     "lean\"],\"properties\":{\"type\":{\"anyOf\":[{\"$ref\":\"#/$defs/simpleTypes\"},{\"type\""
     ":\"array\",\"items\":{\"$ref\":\"#/$defs/simpleTypes\"},\"minItems\":1,\"uniqueItems\":t"
     "rue}]},\"const\":true,\"enum\":{\"type\":\"array\",\"items\":true},\"multipleOf\":{\"typ"
     "e\":\"number\",\"exclusiveMinimum\":0},\"maximum\":{\"type\":\"number\"},\"exclusiveMaxi"
     "mum\":{\"type\":\"number\"},\"minimum\":{\"type\":\"number\"},\"exclusiveMinimum\":{\"ty"
     "pe\":\"number\"},\"maxLength\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"minLength\":{"
     "\"$ref\":\"#/$defs/nonNegativeInteger\"},\"pattern\":{\"type\":\"string\",\"format\":\"r"
     "egex\"},\"maxItems\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"minItems\":{\"$ref\":\""
     "#/$defs/nonNegativeInteger\"},\"uniqueItems\":{\"type\":\"boolean\"},\"maxContains\":{\""
     "$ref\":\"#/$defs/nonNegativeInteger\"},\"minContains\":{\"$ref\":\"#/$defs/nonNegativeIn"
     "teger\"},\"maxProperties\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"minProperties\":{"
     "\"$ref\":\"#/$defs/nonNegativeInteger\"},\"required\":{\"$ref\":\"#/$defs/stringArray\"}"
     ",\"dependentRequired\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/$defs"
     "/stringArray\"}}},\"$defs\":{\"nonNegativeInteger\":{\"type\":\"integer\",\"minimum\":0}"
     ",\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"integer\",\"null\",\"number\",\"obje"
     "ct\",\"string\"]},\"stringArray\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\""
     "uniqueItems\":true}}}"},
    {"https://json-schema.org/draft/2020-12/meta/meta-data",
     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
     "ema.org/draft/2020-12/meta/meta-data\",\"$dynamicAnchor\":\"meta\",\"$vocabulary\":{\"ht"
     "tps://json-schema.org/draft/2020-12/vocab/meta-data\":true},\"type\":[\"object\",\"boole"
     "an\"],\"properties\":{\"title\":{\"type\":\"string\"},\"description\":{\"type\":\"string"
     "\"},\"default\":true,\"deprecated\":{\"type\":\"boolean\"},\"readOnly\":{\"type\":\"bool"
     "ean\"},\"writeOnly\":{\"type\":\"boolean\"},\"examples\":{\"type\":\"array\",\"items\":t"
     "rue}}}"},
    {"https://json-schema.org/draft/2020-12/meta/format-annotation",
     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
     "ema.org/draft/2020-12/meta/format-annotation\",\"$dynamicAnchor\":\"meta\",\"$vocabulary"
     "\":{\"https://json-schema.org/draft/2020-12/vocab/format-annotation\":true},\"type\":[\""
     "object\",\"boolean\"],\"properties\":{\"format\":{\"type\":\"string\"}}}"},
    {"https://json-schema.org/draft/2020-12/meta/format-assertion",
     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
     "ema.org/draft/2020-12/meta/format-assertion\",\"$dynamicAnchor\":\"meta\",\"$vocabulary\""
     ":{\"https://json-schema.org/draft/2020-12/vocab/format-assertion\":true},\"type\":[\"obj"
     "ect\",\"boolean\"],\"properties\":{\"format\":{\"type\":\"string\"}}}"},
    {"https://json-schema.org/draft/2020-12/meta/content",
     "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-sch"
     "ema.org/draft/2020-12/meta/content\",\"$dynamicAnchor\":\"meta\",\"$vocabulary\":{\"http"
     "s://json-schema.org/draft/2020-12/vocab/content\":true},\"type\":[\"object\",\"boolean\""
     "],\"properties\":{\"contentEncoding\":{\"type\":\"string\"},\"contentMediaType\":{\"type"
     "\":\"string\"},\"contentSchema\":{\"$dynamicRef\":\"#meta\"}}}"},
    {"http://json-schema.org/draft-07/schema",
     "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$id\":\"http://json-schema.or"
     "g/draft-07/schema#\",\"type\":[\"object\",\"boolean\"],\"definitions\":{\"schemaArray\":"
     "{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#\"}},\"nonNegativeInteger\":{\""
     "type\":\"integer\",\"minimum\":0},\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"int"
     "eger\",\"null\",\"number\",\"object\",\"string\"]},\"stringArray\":{\"type\":\"array\",\""
     "items\":{\"type\":\"string\"},\"uniqueItems\":true}},\"properties\":{\"$id\":{\"type\":\""
     "string\",\"format\":\"uri-reference\"},\"$schema\":{\"type\":\"string\",\"format\":\"uri"
     "\"},\"$ref\":{\"type\":\"string\",\"format\":\"uri-reference\"},\"$comment\":{\"type\":\""
     "string\"},\"title\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"},\"defaul"
     "t\":true,\"readOnly\":{\"type\":\"boolean\"},\"writeOnly\":{\"type\":\"boolean\"},\"exam"
     "ples\":{\"type\":\"array\",\"items\":true},\"multipleOf\":{\"type\":\"number\",\"exclusi"
     "veMinimum\":0},\"maximum\":{\"type\":\"number\"},\"exclusiveMaximum\":{\"type\":\"number"
     "\"},\"minimum\":{\"type\":\"number\"},\"exclusiveMinimum\":{\"type\":\"number\"},\"maxLe"
     "ngth\":{\"$ref\":\"#/definitions/nonNegativeInteger\"},\"minLength\":{\"$ref\":\"#/defin"
     "itions/nonNegativeInteger\"},\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},\"ad"
     "ditionalItems\":{\"$ref\":\"#\"},\"items\":{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#/de"
     "finitions/schemaArray\"}]},\"maxItems\":{\"$ref\":\"#/definitions/nonNegativeInteger\"},"
     "\"minItems\":{\"$ref\":\"#/definitions/nonNegativeInteger\"},\"uniqueItems\":{\"type\":\""
     "boolean\"},\"contains\":{\"$ref\":\"#\"},\"maxProperties\":{\"$ref\":\"#/definitions/non"
     "NegativeInteger\"},\"minProperties\":{\"$ref\":\"#/definitions/nonNegativeInteger\"},\"r"
     "equired\":{\"$ref\":\"#/definitions/stringArray\"},\"additionalProperties\":{\"$ref\":\""
     "#\"},\"definitions\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"}},\"p"
     "roperties\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"}},\"patternPro"
     "perties\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"},\"propertyNames"
     "\":{\"format\":\"regex\"}},\"dependencies\":{\"type\":\"object\",\"additionalProperties\""
     ":{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#/definitions/stringArray\"}]}},\"propertyName"
     "s\":{\"$ref\":\"#\"},\"const\":true,\"enum\":{\"type\":\"array\",\"items\":true},\"type\""
     ":{\"anyOf\":[{\"$ref\":\"#/definitions/simpleTypes\"},{\"type\":\"array\",\"items\":{\"$"
     "ref\":\"#/definitions/simpleTypes\"},\"minItems\":1,\"uniqueItems\":true}]},\"format\":{"
     "\"type\":\"string\"},\"contentMediaType\":{\"type\":\"string\"},\"contentEncoding\":{\"t"
     "ype\":\"string\"},\"if\":{\"$ref\":\"#\"},\"then\":{\"$ref\":\"#\"},\"else\":{\"$ref\":\""
     "#\"},\"allOf\":{\"$ref\":\"#/definitions/schemaArray\"},\"anyOf\":{\"$ref\":\"#/definiti"
     "ons/schemaArray\"},\"oneOf\":{\"$ref\":\"#/definitions/schemaArray\"},\"not\":{\"$ref\":"
     "\"#\"}}}"},
    /* clang-format on */
};

mcp_str mcp__schema_builtin(mcp_str uri)
{
    for (size_t i = 0; i < MCP__COUNT(metaschemas); i++) {
        if (mcp_str_eq(uri, mcp_str_from(metaschemas[i].uri)))
            return mcp_str_from(metaschemas[i].text);
    }
    return (mcp_str){"", 0};
}
