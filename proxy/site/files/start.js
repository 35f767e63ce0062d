// Makes the command fit for pasting: the page is the same bytes on every host.
document.getElementById('origin').textContent = location.origin;
