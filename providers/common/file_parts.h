/* file_parts.h: the parameters in the URIs of files and folders, which read a part: one table, of
 * which the templates, the ranges, the arguments of read_resource and the texts are made.
 *
 * Each PART(KIND, name, title, about, PARAMETERS) is a template, and its parameters are one FIRST
 * and any number of NEXT, both with (KIND, MEMBER, name, value, BOUNDS, about): the member of
 * files_part that gets the value, and FROM(min) or BETWEEN(min, max). A user of the table defines
 * the macros for the columns that it needs.
 */
#ifndef COMMON_FILE_PARTS_H
#define COMMON_FILE_PARTS_H

#define COMMON_FOLDER_MOST 10000 /* entries of a listing */

/* clang-format off */
#define COMMON_FILE_PARTS(PART, FIRST, NEXT)                                                       \
    PART(BYTES, "bytes", "Bytes of a file",                                                        \
        "Length bytes from offset on (0 is the first); without length, up to the end",             \
        FIRST(BYTES, from, "offset", "BYTE", FROM(0), "Of a file: first byte (from 0)")            \
        NEXT(BYTES, count, "length", "BYTES", FROM(1), "Of a file: number of bytes"))              \
    PART(LINES, "lines", "Lines of a file",                                                        \
        "A number of lines, from line on (1 is the first); without lines, up to the end",          \
        FIRST(LINES, from, "line", "FIRST", FROM(1), "Of a file: first line (from 1)")             \
        NEXT(LINES, count, "lines", "COUNT", FROM(1), "Of a file: number of lines"))               \
    PART(TAIL, "tail", "End of a file",                                                            \
        "The last lines of a file; tail is their number",                                          \
        FIRST(TAIL, count, "tail", "LINES", FROM(1), "Of a file: only the last lines, this many"))

#define COMMON_FOLDER_PARTS(PART, FIRST, NEXT)                                                     \
    PART(TREE, "folder", "Listing of a folder",                                                    \
        "Contents of a folder, down to depth levels (default 1), at most limit entries "           \
        "(default 1000); one line each: kind, size, URI",                                          \
        FIRST(TREE, from, "depth", "LEVELS", BETWEEN(1, 64), "Of a folder: levels to list")        \
        NEXT(TREE, count, "limit", "ENTRIES", BETWEEN(1, COMMON_FOLDER_MOST),                      \
            "Of a folder: maximum entries"))
/* clang-format on */

#define COMMON_PARTS(PART, FIRST, NEXT)  \
    COMMON_FILE_PARTS(PART, FIRST, NEXT) \
    COMMON_FOLDER_PARTS(PART, FIRST, NEXT)

/* The parameters of a file, " ?offset=BYTE&length=BYTES, ?line=FIRST&lines=COUNT," and so on, and
 * those of a folder, for a sentence that continues. */
#define COMMON_FORM(kind, name, title, about, parameters)           " " parameters ","
#define COMMON_FORM_FIRST(kind, member, name, value, bounds, about) "?" name "=" value
#define COMMON_FORM_NEXT(kind, member, name, value, bounds, about)  "&" name "=" value

#define COMMON_FILE_FORMS COMMON_FILE_PARTS(COMMON_FORM, COMMON_FORM_FIRST, COMMON_FORM_NEXT)

#define COMMON_FOLDER_FORMS COMMON_FOLDER_PARTS(COMMON_FORM, COMMON_FORM_FIRST, COMMON_FORM_NEXT)

#endif
