// Puts the host of this page into the command, so that it can be copied. The HTML is the same everywhere.
document.getElementById('origin').textContent = location.origin;
