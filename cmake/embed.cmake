# Files that become part of the library: the styles and scripts of the pages that it writes.
#
#     attn_embed(sources at_page_script src/explain/page/a.js src/explain/page/b.js)
#
# adds to the list `sources` a C file, made at build time, with the files one after another:
#
#     const char at_page_script[];            ended by a 0
#     const size_t at_page_script_length;     without it
#
# Who uses them declares them in src/explain/embedded.h. The same file is the script that makes the C file.
if(CMAKE_SCRIPT_MODE_FILE)
    set(content "")
    foreach(file ${FILES})
        file(READ ${file} hex HEX)
        string(APPEND content "${hex}")
    endforeach()
    string(LENGTH "${content}" length)
    math(EXPR length "${length} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," content "${content}")
    string(REGEX REPLACE "(('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',))" "\\1\n" content
                         "${content}")
    file(WRITE ${OUTPUT} "#include \"explain/embedded.h\"\n\nconst char ${NAME}[] = {\n${content}0};\n"
                         "const size_t ${NAME}_length = ${length};\n")
    return()
endif()

set(attn_embed_script ${CMAKE_CURRENT_LIST_FILE})
function(attn_embed list name)
    set(output ${PROJECT_BINARY_DIR}/embedded/${name}.c)
    set(files ${ARGN})
    list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/)
    add_custom_command(
        OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DOUTPUT=${output} "-DFILES=${files}" -P ${attn_embed_script}
        DEPENDS ${files} ${attn_embed_script}
        VERBATIM)
    set(${list} ${${list}} ${output} PARENT_SCOPE)
endfunction()
