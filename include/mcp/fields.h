/* mcp/fields.h: one table that is both a JSON Schema and the description of a C struct.
 *
 *     typedef struct trip {
 *         mcp_str to;
 *         int64_t days;
 *         mcp_str tags[4];
 *         size_t n_tags;
 *     } trip;
 *     static const mcp_field trip_fields[] = {
 *         MCP_STRING_FIELD(trip, to, .description = "Destination", .required = true),
 *         MCP_INT_FIELD(trip, days, .minimum = 1, .maximum = MCP_NO_MAXIMUM),
 *         MCP_STRINGS_FIELD(trip, tags, n_tags, .max_length = 20),
 *     };
 *     static const mcp_tool plan_tool = {… .fields = trip_fields, .n_fields = 3, .call = plan};
 *
 *     static int plan(mcp_request *req, const mcp_json *arguments, void *user)
 *     {
 *         trip t = {.days = 7};                // the default values
 *         mcp_fields_read(trip_fields, 3, arguments, &t);
 *
 * The library generates the input schema of the tool from the table (an object without additional
 * properties) and validates the arguments against it before it calls the handler. The handler reads
 * them into the struct. In the other direction, mcp_reply_fields() sends a struct as the structured
 * result of a tool. A table describes a flat object of strings, numbers, booleans and arrays of
 * strings; for anything else, write the schema by hand (mcp_tool.input_schema).
 */
#ifndef MCP_FIELDS_H
#define MCP_FIELDS_H

#include <math.h>

#include <mcp/base.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The type of a field. The comments give the C type of its member in the struct. */
typedef enum mcp_field_type {
    MCP_FIELD_STRING = 0, /* mcp_str */
    MCP_FIELD_INT,        /* int64_t */
    MCP_FIELD_NUMBER,     /* double */
    MCP_FIELD_BOOL,       /* bool */
    MCP_FIELD_STRINGS,    /* an array of mcp_str, and a size_t for the number of elements in use */
} mcp_field_type;

/* One property of the object. Everything that it points to is borrowed. */
typedef struct mcp_field {
    size_t size;
    const char *name; /* name of the property; UTF-8; required */
    mcp_field_type type;
    bool required;
    size_t offset;           /* offset of the member in the struct */
    const char *title;       /* UTF-8; NULL if none */
    const char *description; /* UTF-8; NULL if none */
    /* STRING and STRINGS: the permitted values, separated by "|", as in "km|mile". NULL permits any
     * value. */
    const char *one_of;
    /* STRING and STRINGS: the maximum length of each string, in Unicode characters; 0 means no
     * limit */
    size_t max_length;
    /* INT and NUMBER: the permitted range, both ends included. It applies only if maximum is larger
     * than minimum. For a range with only one end, set the other end to MCP_NO_MINIMUM or
     * MCP_NO_MAXIMUM; it may be left out if 0 would contradict the first one: a minimum above 0, a
     * maximum below 0. If the field is an INT, each end must be a whole number between -2^63 and
     * 2^63. Without a range, an INT is limited to int64_t. */
    double minimum, maximum;
    size_t max_items;    /* STRINGS: the length of the array in the struct; required */
    size_t min_items;    /* STRINGS: the minimum number of elements */
    size_t count_offset; /* STRINGS: offset of the size_t in the struct */
} mcp_field;

#define MCP_NO_MINIMUM (-HUGE_VAL)
#define MCP_NO_MAXIMUM HUGE_VAL

/* A call that gets a malformed table fails with MCP_EINVAL, and its error text names the field. A
 * table is malformed if a name is missing or used twice, two fields overlap in the struct, a string
 * is not UTF-8, an offset is not aligned for the type, or a limit does not suit the type or
 * contradicts another one. A form (mcp_elicit) allows STRINGS only with one_of (2025-11-25,
 * client/elicitation). */

/* Each of these macros is one element of a table. Its arguments are the struct type, the name of
 * the member, which is also the name of the property, and at least one initializer of another
 * member of mcp_field. MCP_STRINGS_FIELD() takes two member names, of the array and of the size_t.
 * The compiler reports a member of the wrong type.
 *
 * In C++ the initializers are calls, joined by dots:
 *     MCP_STRING_FIELD(trip, to, .description("Destination").required())
 *     MCP_INT_FIELD(trip, days, .minimum(1).maximum(MCP_NO_MAXIMUM))
 * The table is a constant there too: static constexpr mcp_field trip_fields[] = {…}. */
#ifndef __cplusplus
#define MCP_STRING_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, mcp_str *, MCP_FIELD_STRING, __VA_ARGS__)
#define MCP_INT_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, int64_t *, MCP_FIELD_INT, __VA_ARGS__)
#define MCP_NUMBER_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, double *, MCP_FIELD_NUMBER, __VA_ARGS__)
#define MCP_BOOL_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, bool *, MCP_FIELD_BOOL, __VA_ARGS__)
#define MCP_STRINGS_FIELD(type, member, count, ...)                                           \
    MCP_FIELD_OF(type, member, mcp_str(*)[MCP_STRINGS_ROOM(type, member)], MCP_FIELD_STRINGS, \
                 .max_items = MCP_STRINGS_ROOM(type, member),                                 \
                 .count_offset = MCP_OFFSET_OF(type, count, size_t *), __VA_ARGS__)

/* Parts of the macros above. The comparison of pointers is never evaluated; it is invalid if the
 * member has another type. */
#define MCP_STRINGS_ROOM(type, member) (sizeof(((type *)0)->member) / sizeof(mcp_str))
#define MCP_OFFSET_OF(struct_type, member, pointer) \
    (offsetof(struct_type, member) + 0 * sizeof(&((struct_type *)0)->member == (pointer)0))
#define MCP_FIELD_OF(struct_type, member, pointer, kind, ...)              \
    {                                                                      \
        .size = sizeof(mcp_field), .name = #member, .type = (kind),        \
        .offset = MCP_OFFSET_OF(struct_type, member, pointer), __VA_ARGS__ \
    }
#endif

/* Reads the members of an object that conforms to the schema of the table into the struct at `to`.
 * If a member is missing from the object, or does not have the type of its field, the member of the
 * struct is unchanged, so initialize the struct first. An array with more elements than the struct
 * has room for, or with an element that is not a string, is treated as having another type. Strings
 * point into the document of the object and live as long as it does; they are not NUL-terminated.
 * `object` may be NULL, which means an empty object. The table must be well-formed; if the `size`
 * of a field is not set, nothing is read. */
MCP_API void mcp_fields_read(const mcp_field *fields, size_t n, const mcp_json *object, void *to);

/* Writes the struct at `from` as an object. A string whose ptr is NULL is left out; every other
 * field is written. For STRINGS, only the elements in use are written. A count above max_items
 * makes the writer fail with MCP_EINVAL. */
MCP_API void mcp_fields_write(const mcp_field *fields, size_t n, const void *from,
                              mcp_json_writer *w);

/* Writes the JSON Schema of the table, an object. */
MCP_API void mcp_fields_schema(const mcp_field *fields, size_t n, mcp_json_writer *w);

#ifdef __cplusplus
}

namespace mcp
{
/* What the macros produce in C++: an mcp_field with one function for each member that a program may
 * set. */
class field_builder
{
    mcp_field made = {};

  public:
    constexpr field_builder(mcp_field_type type, const char *name, size_t offset)
    {
        made.size = sizeof(mcp_field);
        made.type = type;
        made.name = name;
        made.offset = offset;
    }
    constexpr field_builder required(bool value = true)
    {
        made.required = value;
        return *this;
    }
    constexpr field_builder title(const char *value)
    {
        made.title = value;
        return *this;
    }
    constexpr field_builder description(const char *value)
    {
        made.description = value;
        return *this;
    }
    constexpr field_builder one_of(const char *value)
    {
        made.one_of = value;
        return *this;
    }
    constexpr field_builder max_length(size_t value)
    {
        made.max_length = value;
        return *this;
    }
    constexpr field_builder minimum(double value)
    {
        made.minimum = value;
        return *this;
    }
    constexpr field_builder maximum(double value)
    {
        made.maximum = value;
        return *this;
    }
    constexpr field_builder min_items(size_t value)
    {
        made.min_items = value;
        return *this;
    }
    constexpr field_builder items(size_t max, size_t count_offset)
    {
        made.max_items = max;
        made.count_offset = count_offset;
        return *this;
    }
    constexpr operator mcp_field() const
    {
        return made;
    }
};

/* The last parameters do not convert from a pointer to a member of another type. */
template <class Struct, class Member>
constexpr field_builder field_of(mcp_field_type type, const char *name, size_t offset,
                                 Member Struct::*)
{
    return field_builder(type, name, offset);
}
template <class Struct, size_t room>
constexpr field_builder strings_of(const char *name, size_t offset, mcp_str (Struct::*)[room],
                                   size_t count_offset, size_t Struct::*)
{
    return field_builder(MCP_FIELD_STRINGS, name, offset).items(room, count_offset);
}
} // namespace mcp

#define MCP_STRING_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, mcp_str, MCP_FIELD_STRING) __VA_ARGS__
#define MCP_INT_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, int64_t, MCP_FIELD_INT) __VA_ARGS__
#define MCP_NUMBER_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, double, MCP_FIELD_NUMBER) __VA_ARGS__
#define MCP_BOOL_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, bool, MCP_FIELD_BOOL) __VA_ARGS__
#define MCP_STRINGS_FIELD(type, member, count, ...)                                              \
    mcp::strings_of<type>(#member, offsetof(type, member), &type::member, offsetof(type, count), \
                          &type::count) __VA_ARGS__
#define MCP_FIELD_OF(type, member, member_type, kind) \
    mcp::field_of<type, member_type>(kind, #member, offsetof(type, member), &type::member)
#endif
#endif
