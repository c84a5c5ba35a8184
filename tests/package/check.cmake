# cmake -DBUILD= -DSCRATCH= -DCOMPILER= -DGENERATOR= -DMAKE= -P check.cmake: installs the build into an empty folder, moves that folder (a package
# may hold no path of where it was made), and has an outside project find it, link it, and run both its own program and the installed one.
foreach(wanted BUILD SCRATCH COMPILER GENERATOR MAKE)
  if(NOT ${wanted})
    message(FATAL_ERROR "check.cmake: -D${wanted}= is missing")
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/made)
file(RENAME ${SCRATCH}/made ${SCRATCH}/moved)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/outside -B ${SCRATCH}/outside -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${SCRATCH}/moved)
run(${CMAKE_COMMAND} --build ${SCRATCH}/outside)
run(${SCRATCH}/outside/outside)
run(${SCRATCH}/moved/bin/thimble --version)
