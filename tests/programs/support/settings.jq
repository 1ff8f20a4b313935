# Prints the JSON Pointer of every setting in a schema; "*" is any member or element, "$NAME" a definition.
def keys_of($at):
  if type != "object" then empty else
    ((.properties // {}) | to_entries[] | ($at + "/" + .key) as $key | $key, (.value | keys_of($key))),
    (if (.items | type) == "object" then .items | keys_of($at + "/*") else empty end),
    (if (.additionalProperties | type) == "object" then ($at + "/*"), (.additionalProperties | keys_of($at + "/*")) else empty end),
    ((.oneOf // [], .anyOf // [], .allOf // []) | .[] | keys_of($at)),
    ((."$defs" // {}) | to_entries[] | ("/$" + .key) as $key | .value | keys_of($key))
  end;
[keys_of("")] | unique | .[]
