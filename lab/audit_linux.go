package lab

// canSearch says whether the memory of another process can be searched here.
const canSearch = true
