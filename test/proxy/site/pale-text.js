// Runs inside a page: lists every text in it that stands out from its ground by less than WCAG 2.2
// asks (success criterion 1.4.3: 4.5 to 1, or 3 to 1 for large text). Its value is a list of lines.
(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });

  function channels(colour) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return { solid: [red, green, blue], alpha: alpha / 255 };
  }

  function paint({ solid, alpha }, ground) {
    return solid.map((value, place) => value * alpha + ground[place] * (1 - alpha));
  }

  function luminance(solid) {
    const [red, green, blue] = solid.map((value) =>
      value <= 10.31 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function contrast(one, other) {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  }

  const pale = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.data.trim();
    const element = texts.currentNode.parentElement;
    const isSeen = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (text === '' || !isSeen || element.closest('noscript') !== null) continue;
    const style = getComputedStyle(element);
    const colour = channels(style.color);
    let ground = [255, 255, 255];
    const ancestors = [];
    for (let at = element; at !== null; at = at.parentElement) ancestors.unshift(at);
    for (const ancestor of ancestors) {
      const { backgroundColor, opacity } = getComputedStyle(ancestor);
      ground = paint(channels(backgroundColor), ground);
      colour.alpha *= Number(opacity);
    }
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = contrast(paint(colour, ground), ground);
    if (ratio < (isLarge ? 3 : 4.5)) {
      pale.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ${text.slice(0, 40)}`);
    }
  }
  return [...pale];
})();
