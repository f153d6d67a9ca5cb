# Writes LOOPS_BUILD, a number of the text of FILES, into OUT.
set(all "")
foreach(file ${FILES})
	file(SHA256 ${file} sum)
	string(APPEND all ${sum})
endforeach()
string(SHA256 sum "${all}")
string(SUBSTRING ${sum} 0 16 word)
file(WRITE ${OUT} "/* Generated from the loops' sources. */\n#define LOOPS_BUILD 0x${word}u\n")
