// A stub of Skyscraper's NameTools.
#include <QString>

struct NameTools {
    static QString getNameWithSpaces(const QString &base) { return QString(base).replace('_', ' '); }
};
