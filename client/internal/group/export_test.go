package group

// For tests of other packages' view.
var PictureNotes = pictureNotes
