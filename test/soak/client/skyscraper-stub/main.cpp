// Finds the games of the names in the arguments, as Skyscraper does, and prints a line for each.
#include "covercatalogue.h"

#include <QCoreApplication>

int main(int argc, char *argv[]) {
    QCoreApplication app(argc, argv);
    Settings config;
    config.userCreds = qEnvironmentVariable("STUB_CREDS");
    config.known = {{"ct1", "Chrono Trigger / the arcade"}, {"turrican_v1", "turrican v1"}};
    CoverCatalogue scraper(&config, QSharedPointer<NetManager>(new NetManager));
    for (const QString &file : app.arguments().mid(2)) {
        QString debug;
        const QString name = scraper.getSearchNames(QFileInfo(file), debug).first();
        QList<GameEntry> entries;
        scraper.find(entries, name, app.arguments().at(1));
        if (!entries.isEmpty())
            scraper.getGameData(entries.first());
        const GameEntry game = entries.isEmpty() ? GameEntry{} : entries.first();
        printf("%s|%s|%s|%s|%d|%d\n", qPrintable(name), qPrintable(game.title), qPrintable(game.releaseDate),
               qPrintable(game.publisher), game.coverData.size() > 0, scraper.reqRemaining);
    }
}
