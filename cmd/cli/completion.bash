# Completion of lockbench in bash: source <(lockbench completion bash)

_lockbench() {
    # The words up to the cursor as they were typed: bash divides them at = : and @ as well, and replaces only what
    # follows the last = or :, or what begins with the last @.
    local typed=${COMP_LINE:0:COMP_POINT} words=() word='' part i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if [[ $typed == [[:space:]]* ]]; then
            words+=("$word") word=''
            typed=${typed#"${typed%%[![:space:]]*}"}
        fi
        part=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || part=$typed
        word+=$part
        typed=${typed#"$part"}
    done
    local quotes=[\'\"\\]
    words=("${words[@]//$quotes/}") word=${word//$quotes/} part=${part//$quotes/}
    local kept=${word%"$part"} flag=''
    [[ $part == [=:] ]] && kept=$word
    kept=${kept%@}
    [[ $word == -*=* ]] && flag=${word%%=*}=

    local out name about names=() abouts=() width=0
    out=$("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" "$word" 2>/dev/null)
    while IFS=$'\t' read -r name about; do
        if [[ -n $name && $flag$name == "$word"* ]]; then
            name=$flag$name
            name=${name#"$kept"}
            names+=("$name") abouts+=("$about")
            ((${#name} <= width)) || width=${#name}
        fi
    done <<<"${out%:*}"
    (((${out##*:} & 4) == 0)) || compopt +o default 2>/dev/null # no files
    COMPREPLY=("${names[@]}")
    for i in "${!names[@]}"; do
        if ((${#names[@]} > 1)) && [[ -n ${abouts[i]} ]]; then
            printf -v name '%-*s  %s' "$width" "${names[i]}" "${abouts[i]}"
            COMPREPLY[i]=${name:0:${COLUMNS:-80}}
        fi
    done
}

complete -o default -F _lockbench lockbench
