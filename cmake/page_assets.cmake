# Writes a C file with the files of a web page (programs/common/page.h). Run at build time:
#   cmake -DFOLDER=web -DOUTPUT=page_assets.c -P page_assets.cmake
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
set(types html "text/html" js "text/javascript" css "text/css" svg "image/svg+xml" json "application/json"
    txt "text/plain")
set(arrays "")
set(rows "")
set(n 0)
foreach(file IN LISTS files)
    cmake_path(GET file EXTENSION LAST_ONLY extension)
    string(REGEX REPLACE "^\\." "" extension "${extension}")
    list(FIND types "${extension}" at)
    if(file MATCHES "(^|/)\\." OR extension STREQUAL "md" OR extension STREQUAL "map")
        continue()
    endif()
    if(at EQUAL -1 OR NOT file MATCHES "^[a-z0-9_/.-]+$")
        message(FATAL_ERROR "web/${file}: neither its name nor its type is known here")
    endif()
    math(EXPR at "${at} + 1")
    list(GET types ${at} type)
    if(type MATCHES "^text/")
        string(APPEND type "; charset=utf-8")
    endif()
    file(READ ${FOLDER}/${file} bytes HEX)
    file(SHA256 ${FOLDER}/${file} hash)
    string(SUBSTRING ${hash} 0 32 hash)
    string(LENGTH "${bytes}" len)
    math(EXPR len "${len} / 2")
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes "${bytes}")
    string(APPEND arrays "static const unsigned char asset_${n}[] = {\n${bytes}0};\n")
    set(path "/${file}")
    if(file STREQUAL "index.html")
        set(path "/")
    endif()
    string(APPEND rows "    {\"${path}\", \"${type}\", \"\\\"${hash}\\\"\", asset_${n}, ${len}},\n")
    math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUTPUT} "/* Made from the files in web/. */
#include <common/page.h>
${arrays}
const page_asset page_assets[] = {
${rows}};
const size_t n_page_assets = ${n};
")
