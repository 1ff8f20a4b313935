# portable.jq: what keeps a tool from being taken by every model service. Input: a Tool of tools/list. Output: the faults,
# as texts; none when all is well.
#
# The rules are what remains when those of OpenAI's strict functions, Gemini's function declarations and Anthropic's tools
# are put together; services refuse the whole request for one schema that they do not take. Every schema has one type,
# every array says of what, an object names its properties and takes no others, an enum has strings, and nothing is
# combined. An output schema may leave the type of a value open: it is not sent to models.

def words: ["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref", "$defs", "definitions", "const", "prefixItems",
    "contains", "patternProperties", "propertyNames", "dependentSchemas", "dependentRequired", "unevaluatedProperties",
    "unevaluatedItems"];

def node($at; $open):
    def fault($why): "\($at): \($why)";
    if type != "object" then fault("is no object")
    else
        (words[] as $word | select(has($word)) | fault("has \($word)")),
        (if has("type") then (select(.type | type != "string") | fault("has no one type"))
         else (select($open | not) | fault("has no type")), (select(has("enum")) | fault("is an enum without a type")) end),
        (select(has("enum") and ((.enum | length) == 0 or any(.enum[]; type != "string")))
         | fault("is an enum of what are not strings")),
        (select(.type == "array" and (.items | type) != "object") | fault("is an array of it does not say what")),
        (select(has("items")) | .items | node("\($at)/items"; $open)),
        (select(.type == "object") | (
            (select(.properties | type != "object") | fault("is an object without properties")),
            (select($open | not) | select(has("additionalProperties") and .additionalProperties != false)
             | fault("takes other properties")),
            ((.properties // {} | keys) as $keys | (.required // [])[]
             | select(IN($keys[]) | not) | fault("requires \(.), which it has not")))),
        (.properties // {} | if type == "object" then to_entries[] | .key as $key
            | (select($key | test("^[A-Za-z0-9_.-]{1,64}$") | not) | fault("has a property \($key)")),
              (.value | node("\($at)/\($key)"; $open)) else empty end)
    end;

def faults: .name as $name
    | (select($name | test("^[A-Za-z0-9_-]{1,64}$") | not) | "\($name): is no name for a tool"),
      (.inputSchema | node("\($name)"; false)),
      (.inputSchema | select(type == "object" and (.type != "object" or has("enum")))
       | "\($name): the arguments are no object"),
      (select(has("outputSchema")) | .outputSchema | node("\($name) output"; true));
